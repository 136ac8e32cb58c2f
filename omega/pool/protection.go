package pool

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// protection is the part of the index that one tenant or group below the root has
// to itself.
type protection struct {
	leases, owed itemList
	changes      uint64 // of items, so far
}

// itemList is a list of items in the order in which guarantees protect them.
type itemList struct{ first, last *item }

// guard is a guarantee that protects items: in their order, each that it covers beside
// those before it. Its candidates are the items of its tenant or group that no guard
// below protects.
//
// The list is cut into parts. Each part stores the sum used by the parts before it.
// A change runs through its own part, and through later parts as far as it changes
// their sums. A part is skipped if the change alters none of its items.
type guard struct {
	depth  int
	most   resources.Vector // kinds of 0 do not count
	parent *guard           // of the nearest group above that has one
	base   resources.Vector // used by items that guards below protect
	parts  []*part
}

// part is a few candidates of a guard, in their order.
type part struct {
	items []*item
	from  resources.Vector // used before the first
	used  resources.Vector // by the protected items
	least resources.Vector // of the needs of the others that the guarantee could cover
	open  bool             // there are such
	dirty bool             // its items have changed
}

// partMost is how many candidates a part has at most.
const partMost = 128

// place returns where an item stands, or belongs: the part and the place in it. There is
// a part.
func (g *guard) place(it *item) (i, at int) {
	i, found := slices.BinarySearchFunc(g.parts, it, func(pt *part, it *item) int { return cmp.Compare(pt.items[0].key, it.key) })
	if !found {
		i = max(0, i-1)
	}
	at, _ = slices.BinarySearchFunc(g.parts[i].items, it, func(a, b *item) int { return cmp.Compare(a.key, b.key) })
	return i, at
}

// remove removes a candidate, and returns the first part that has changed.
func (g *guard) remove(it *item) int {
	i, at := g.place(it)
	pt := g.parts[i]
	if pt.items, pt.dirty = slices.Delete(pt.items, at, at+1), true; len(pt.items) == 0 {
		g.parts = slices.Delete(g.parts, i, i+1)
	}
	return i
}

// add adds a candidate, and returns the first part that has changed.
func (g *guard) add(it *item) int {
	if len(g.parts) == 0 {
		g.parts = append(g.parts, &part{from: g.base})
		g.parts[0].items, g.parts[0].dirty = append(g.parts[0].items, it), true
		return 0
	}
	i, at := g.place(it)
	pt := g.parts[i]
	if i == len(g.parts)-1 && at == len(pt.items) && at >= partMost/2 { // the latest of all: the next part stays short
		g.parts = append(g.parts, &part{from: g.end(), items: []*item{it}, dirty: true})
		return i + 1
	}
	pt.items, pt.dirty = slices.Insert(pt.items, at, it), true
	if len(pt.items) > partMost {
		half := len(pt.items) / 2
		g.parts = slices.Insert(g.parts, i+1, &part{items: slices.Clone(pt.items[half:]), dirty: true})
		pt.items = slices.Delete(pt.items, half, len(pt.items))
	}
	return i
}

// end returns the use of all items that g and the guards below protect.
func (g *guard) end() resources.Vector {
	if n := len(g.parts); n > 0 {
		return g.parts[n-1].from.Add(g.parts[n-1].used)
	}
	return g.base
}

// review decides again which candidates are protected, from a part on, and appends
// those for which that has changed.
func (g *guard) review(first int, to []*item) []*item {
	used := g.base
	if first > 0 && first <= len(g.parts) {
		used = g.parts[first-1].from.Add(g.parts[first-1].used)
	}
	for i := first; i < len(g.parts); i++ {
		pt := g.parts[i]
		if pt.dirty || used != pt.from && !pt.unchanged(&g.most, &used) {
			to = g.decide(pt, used, to)
		}
		pt.from = used
		used = used.Add(pt.used)
	}
	return to
}

// unchanged reports whether the same candidates are protected where so much is used
// before them.
func (pt *part) unchanged(most, from *resources.Vector) bool {
	full := !pt.open
	for k, q := range most {
		if q == 0 {
			continue
		}
		if pt.used[k] > 0 && from[k] > q-pt.used[k] {
			return false
		}
		full = full || pt.least[k] > 0 && from[k] > q-pt.least[k]
	}
	return full
}

// decide finds out which candidates of a part are protected.
func (g *guard) decide(pt *part, from resources.Vector, to []*item) []*item {
	used := from
	pt.open, pt.dirty, pt.least = false, false, resources.Uniform(math.MaxInt64)
	for _, it := range pt.items {
		safe := covers(&g.most, &used, &it.need)
		if safe {
			used = used.Add(it.need)
		} else if covers(&g.most, &resources.Vector{}, &it.need) {
			pt.open = true
			lower(&pt.least, &it.need)
		}
		if safe == (it.by == g) {
			continue
		}
		if it.by = nil; safe {
			it.by = g
		}
		to = append(to, it)
	}
	pt.used = sumOf(&used, &from, -1)
	return to
}

// protect brings the protection up to date after some items went, and others came, that g
// or guards above protect. Cost, for L items: O(L / partMost + partMost) for each item
// with changed protection.
func (x *preemptible) protect(g *guard, out, in []*item) {
	var more resources.Vector // further use by items that guards below protect
	for ; g != nil; g = g.parent {
		was, first := g.end(), len(g.parts)
		if more != (resources.Vector{}) {
			g.base, first = sumOf(&g.base, &more, 1), 0
		}
		for _, it := range out {
			first = min(first, g.remove(it))
		}
		for _, it := range in {
			it.entered = true
			first = min(first, g.add(it))
		}
		changed := g.review(first, nil)
		x.touched = append(x.touched, changed...)
		// The candidates of the guard above are the items not protected here.
		out = slices.DeleteFunc(slices.Clone(out), func(it *item) bool { return it.was == g })
		var open []*item
		for _, it := range changed {
			switch {
			case it.entered:
			case it.by == g:
				out = append(out, it)
			default:
				open = append(open, it)
			}
		}
		for _, it := range in {
			if it.entered = false; it.by == nil {
				open = append(open, it)
			}
		}
		now := g.end()
		if in, more = open, sumOf(&now, &was, -1); len(in)+len(out) == 0 && more == (resources.Vector{}) {
			break
		}
	}
	for _, it := range x.touched {
		it.was = it.by
		safe := 0
		if it.by != nil {
			safe = it.by.depth
		}
		if safe != it.safe {
			m := &x.machines[it.node]
			m.uncount(it)
			it.safe = safe
			m.count(it)
			x.mark(it.node)
		}
	}
	x.touched = x.touched[:0]
}

// protectAll decides for all items of an index that is made.
func (x *preemptible) protectAll() {
	candidates := make(map[*guard][]*item)
	for _, m := range x.machines {
		for it := range m.all() {
			if g := it.rights.guard; g != nil {
				candidates[g] = append(candidates[g], it)
			}
		}
	}
	for _, g := range slices.SortedFunc(maps.Values(x.guards), func(a, b *guard) int { return cmp.Compare(b.depth, a.depth) }) {
		list := candidates[g]
		slices.SortFunc(list, func(a, b *item) int { return cmp.Compare(a.key, b.key) })
		for few := range slices.Chunk(list, partMost/2) {
			g.parts = append(g.parts, &part{items: slices.Clone(few), dirty: true})
		}
		g.review(0, nil)
		if up := g.parent; up != nil {
			end := g.end()
			up.base = sumOf(&up.base, &end, 1)
			for _, it := range list {
				if it.by == nil {
					candidates[up] = append(candidates[up], it)
				}
			}
		}
	}
	for i := range x.machines {
		for it := range x.machines[i].all() {
			if it.was = it.by; it.by != nil {
				it.safe = it.by.depth
			}
			x.machines[i].count(it)
		}
	}
}

func (l *itemList) add(it *item) {
	if it.prev = l.last; l.last == nil {
		l.first = it
	} else {
		l.last.next = it
	}
	l.last = it
}

func (l *itemList) remove(it *item) {
	if it.prev == nil {
		l.first = it.next
	} else {
		it.prev.next = it.next
	}
	if it.next == nil {
		l.last = it.prev
	} else {
		it.next.prev = it.prev
	}
}
