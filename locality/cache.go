package locality

import (
	"cmp"
	"maps"
	"slices"
)

// Cache keeps the intersections of the k constraint sets that were required most,
// with more weight for late calls. It returns the number of cached sets. A search
// by a cached set costs as much as by one constraint. The first reader after a
// change of machines updates the intersection, so no reader sees a stale one.
//
// Call it now and then, say once in a thousand calls of [Attributes.Require]. Each
// call halves the counts, and sets with a count of zero are dropped, so sets that
// were in use once do not stay for good. It also covers the machines that have come
// since. Constraints that a caller holds remain valid, cached or not. With k = 0 no
// set is cached.
//
// Cost: O(sets log sets + k² + k × machines / 64). Changes of machines cost the
// same as without a cache. Memory: 9/8 bits per machine and cached set.
func (a *Attributes) Cache(k int) int {
	if a == nil {
		return 0
	}
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
		most := len(set.members) > 1 && len(a.cached) < k && set.uses > 0
		if most {
			a.cached = append(a.cached, set)
		}
		if set.uses /= 2; set.uses == 0 && !most {
			delete(a.sets, key)
		}
	}
	for _, set := range was {
		if !slices.Contains(a.cached, set) {
			set.memo.Store(nil)
		}
	}
	for _, set := range a.cached {
		m := set.memo.Load()
		if m == nil {
			m = new(memo)
			set.memo.Store(m)
		}
		for p := range a.frames {
			if a.frames[p].Load() != nil && m.pages[p].Load() == nil {
				m.pages[p].Store(new(memoPage))
			}
		}
	}
	return len(a.cached)
}
