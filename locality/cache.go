package locality

import (
	"cmp"
	"maps"
	"slices"
)

// Cache keeps the intersections of the k constraint sets that were required
// most, those of late counting more: looking for machines that meet them costs
// as much as for one constraint. Where machines change, whoever reads them next
// takes the intersection anew, so nothing that is read is stale. It returns how
// many sets are cached.
//
// Call it every now and then, say once in thousand calls of [Attributes.Require]:
// each call halves what was counted, and sets that come to nothing are no longer
// counted, so that sets in use once do not stay for good. It also covers the
// machines that have come since. Constraints that are held by somebody remain
// good, cached or not. With k = 0 nothing is cached.
//
// Cost: O(sets log sets + k² + k × machines / 64); changes of machines cost what
// they cost without. Memory: 9/8 bits per machine and cached set.
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
