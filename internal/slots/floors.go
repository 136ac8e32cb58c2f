package slots

import (
	"cmp"
	"slices"
)

// floors returns for each leaf the price at which an auction begins to sell. It is not
// above that of any solution.
//
//   - Let a tree of groups have S units. If more than S tasks would rather pay p for a
//     unit anywhere in it than go elsewhere, units cost p at least.
//   - At a leaf at the top the tasks of one job wait, and k of them must. Its price is
//     that at which k wait while all others find their cheapest place free.
//
// The first needs the second, and the other way round. Each is looked at once more with
// the result of the other. Cost: O(options) and a sort of tasks.
func (n *Net) floors() []int64 {
	f := floors{net: n, price: make([]int64, len(n.locs)), root: make([]Loc, len(n.locs)), bids: make([][]int64, len(n.locs))}
	f.wait()
	if f.trees() {
		f.wait()
	}
	for v := range f.price {
		if r := f.root[v]; int(r) != v {
			f.price[v] = f.price[r]
		}
	}
	return f.price
}

// floors are the least prices of leaves and of whole trees, as far as they are known.
type floors struct {
	net   *Net
	price []int64 // by location; of those in trees only the root
	root  []Loc   // by location
	bids  [][]int64
}

// wait looks at the leaves at the top where tasks must wait.
func (f *floors) wait() {
	n := f.net
	kept := false
	for v := range n.locs {
		f.root[v], f.bids[v] = n.top(Loc(v)), f.bids[v][:0]
		kept = kept || n.locs[v].parent == none && n.locs[v].demand > 0
	}
	if !kept {
		return
	}
	for t := range n.tasks {
		f.bid(int32(t))
		if !n.work.spend(int(n.tasks[t].n)) {
			return
		}
	}
	for v, all := range f.bids {
		keeps := int(n.locs[v].demand)
		if keeps == 0 || len(all) < keeps {
			continue
		}
		n.work.spend(len(all))
		slices.SortFunc(all, func(a, b int64) int { return cmp.Compare(b, a) })
		f.price[v] = min(0, -all[len(all)-keeps])
	}
}

// bid notes what t would pay not to wait at the leaf where it may.
func (f *floors) bid(t int32) {
	n := f.net
	var wait Loc = none
	var least, cost int64
	found := false
	opts := n.optionsOf(t)
	for i := range opts {
		o := &opts[i]
		c := o.cost(n.now)
		if l := &n.locs[o.at]; l.leaf && l.parent == none && l.demand > 0 && wait == none {
			wait, cost = o.at, c
			continue
		}
		if c += max(0, f.price[f.root[o.at]]); !found || c < least {
			least, found = c, true
		}
	}
	if wait != none && found {
		f.bids[wait] = append(f.bids[wait], cost-least)
	}
}

// trees looks at the roots of trees, and reports whether one is dearer than nothing.
func (f *floors) trees() (dear bool) {
	n := f.net
	room := make([]int, len(n.locs))
	units := 0
	for v := range n.locs {
		f.bids[v] = f.bids[v][:0]
		if l := &n.locs[v]; l.leaf && l.parent != none {
			room[f.root[v]] += int(l.demand) + int(l.capacity)
			units += int(l.demand) + int(l.capacity)
		}
	}
	if units >= n.live {
		return false
	}
	for t := range n.tasks {
		if !n.work.spend(int(n.tasks[t].n)) {
			return false
		}
		f.ask(int32(t))
	}
	for v, all := range f.bids {
		if v == int(Sink) || len(all) <= room[v] {
			continue
		}
		n.work.spend(len(all))
		slices.SortFunc(all, func(a, b int64) int { return cmp.Compare(b, a) })
		if p := all[room[v]]; p > 0 && p < never/(2*fraction) {
			f.price[v], dear = p, true
		}
	}
	return dear
}

// ask notes what t would pay for any unit of a tree rather than to go elsewhere.
func (f *floors) ask(t int32) {
	n := f.net
	opts := n.optionsOf(t)
	for i := range opts {
		o := &opts[i]
		if n.locs[o.at].leaf || n.locs[o.at].parent != none {
			continue
		}
		other := never
		for k := range opts {
			if p := &opts[k]; f.root[p.at] != o.at {
				other = min(other, p.cost(n.now)+min(0, f.price[f.root[p.at]]))
			}
		}
		f.bids[o.at] = append(f.bids[o.at], other-o.cost(n.now))
	}
}

// top returns the location at the top above v.
func (n *Net) top(v Loc) Loc {
	for n.locs[v].parent != none {
		v = n.locs[v].parent
	}
	return v
}
