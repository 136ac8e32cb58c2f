package omega

import (
	"iter"

	"github.com/cellsched/cellsched/resources"
)

// Fitting walks the machines that fit a query, each once, with their free room. Such a
// machine has room for the need, the scheduler may claim it, and the query allows it.
// They come by number, or in the order of [Query.Among].
//
// A [Policy] picks from the same machines; Fitting serves a search that no Policy makes.
// The loop body may take room with [Snapshot.Take]: a machine's room is checked when the
// walk comes to it. It must not refresh or commit. Cost: O(machines) at worst, of which
// those without room are mostly passed by 32 at a time. With an Among it has a bit for
// each machine besides.
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
