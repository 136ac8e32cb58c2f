package omega

import (
	"iter"

	"github.com/cellsched/cellsched/resources"
)

// Fitting walks the machines that will do for a query, each once, with what they have
// free: those that have room for the need, that the scheduler may claim, and that the
// query allows. They come by number, or in the order of [Query.Among].
//
// It is what a [Policy] picks from, for a search that none of them makes. The loop body
// may take room with [Snapshot.Take]: whether a machine has room is asked when the walk
// comes to it. It must not refresh or commit. Cost: O(machines) at worst, of which those
// without room are mostly passed by 32 at a time; with an Among, a bit for each machine.
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
