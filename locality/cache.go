package locality

import (
	"cmp"
	"maps"
	"slices"
)

// Cache keeps the intersections of the k constraint sets that were required
// most, those of late counting more: looking for machines that meet them costs
// as much as for one constraint. The intersections are kept up to date with
// each change, so nothing that is read becomes stale. It returns how many sets
// are cached.
//
// Call it every now and then, say once in thousand calls of [Attributes.Require]:
// each call halves what was counted, and sets that come to nothing are no longer
// counted, so that sets in use once do not stay for good. Constraints that are
// held by somebody remain good, cached or not. With k = 0 nothing is cached.
//
// Cost: O(sets log sets + k × constraints × machines / 64) and, for each change
// of a machine after that, a few nanoseconds for each cached set that it
// concerns. Memory: a bit per machine and cached set.
func (a *Attributes) Cache(k int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(a.sets), func(s, t string) int {
		return cmp.Or(cmp.Compare(a.sets[t].uses, a.sets[s].uses), cmp.Compare(s, t))
	})
	was := a.cached
	a.cached = nil
	for _, key := range keys {
		set := a.sets[key]
		// A set of one is a bit vector already.
		if len(set.members) > 1 && len(a.cached) < k && set.uses > 0 {
			a.cached = append(a.cached, set)
		}
		if set.uses /= 2; set.uses == 0 && !slices.Contains(a.cached, set) {
			delete(a.sets, key)
		}
	}
	for _, set := range was {
		if !slices.Contains(a.cached, set) {
			set.uncache()
		}
	}
	for _, set := range a.cached {
		if set.conjunction.Load() == nil {
			set.cache()
		}
	}
	return len(a.cached)
}

// cache makes the conjunction, which follows the members from then on. Under
// of.mu.
func (c *Constraints) cache() {
	v := new(vector)
	for p := range uint32(maxPages) {
		var pg page
		some := false
		for i := range uint32(pageWords) {
			x := ^uint64(0)
			for _, r := range c.members {
				x &= r.sat.word(p, i)
			}
			pg[i].Store(x)
			some = some || x != 0
		}
		if some {
			v.pages[p].Store(&pg)
		}
	}
	for _, r := range c.members {
		r.cached = append(r.cached, c)
	}
	c.conjunction.Store(v)
}

func (c *Constraints) uncache() {
	c.conjunction.Store(nil)
	for _, r := range c.members {
		r.cached = slices.DeleteFunc(r.cached, func(d *Constraints) bool { return d == c })
	}
}

// follow makes the bit of n in the conjunction what the members say.
func (c *Constraints) follow(n Node) {
	lacks := func(r *registered) bool { return !r.sat.has(n) }
	c.conjunction.Load().set(n, !slices.ContainsFunc(c.members, lacks))
}
