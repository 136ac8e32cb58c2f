package omega

import (
	"iter"

	"github.com/cellsched/cellsched/resources"
)

// Fitting walks the machines that fit a query, with their free room: they have room for
// the need, and the scheduler and the query allow them. They come by number, or as
// Query.Among has them. The loop body may take room ([Snapshot.Take]), and must not
// refresh or commit. Cost: O(machines) at worst, most of which are passed by 32 at a
// time.
func (s *Snapshot) Fitting(q Query) iter.Seq2[MachineID, resources.Vector] {
	return func(yield func(MachineID, resources.Vector) bool) {
		if s.none() {
			return
		}
		need, mask := makeSparse(&q.Need), s.owner.mask.Load()
		if q.Among == nil {
			s.catchUpAll()
			n := len(s.free)
			for node := s.index.next(s.free, &need, 0, n); node < n; node = s.index.next(s.free, &need, node+1, n) {
				if s.permits(&q, mask, node) && !yield(s.ids[node].id, s.free[node]) {
					return
				}
			}
			return
		}
		seen := make(Mask, (len(s.free)+63)/64)
		for n := range q.Among {
			if uint64(n) >= uint64(len(s.free)) || seen.Has(n) {
				continue
			}
			seen[n/64] |= 1 << (n % 64)
			node := int(n)
			s.catchUp(node)
			if need.fits(&s.free[node]) && s.permits(&q, mask, node) && !yield(s.ids[node].id, s.free[node]) {
				return
			}
		}
	}
}
