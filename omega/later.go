package omega

import (
	"cmp"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// PlaceLater finds machines to reserve for up to k tasks of the query's need, yields each
// with its number of tasks, and returns how many are placed: see [Txn.Reserve]. It takes
// nothing.
//
// A machine fits if it has the room when it is empty, beside its reservations; if such
// machines are too few, reservations do not count. The machine that lacks the smallest
// part of the need comes first, then the lower number. yield may be nil. Cost: O(machines
// log machines).
func (s *Snapshot) PlaceLater(q Query, k int, yield func(m MachineID, tasks int)) (placed int) {
	if s.none() || k < 1 || q.Need.CheckNeed() != nil {
		return 0
	}
	found := s.later(&q, k, true)
	if found == nil {
		found = s.later(&q, k, false)
	}
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.score, b.score), a.byNode(b)) })
	for _, c := range found {
		if placed == k {
			break
		}
		n := min(c.tasks, k-placed)
		if placed += n; yield != nil {
			yield(s.ids[c.node].id, n)
		}
	}
	return placed
}

// later returns the machines that fit, with the part of the need that they lack as their
// score. Reservations count if beside is true. It returns nil if they do and the machines
// are too few.
func (s *Snapshot) later(q *Query, k int, beside bool) (found []candidate) {
	mask, total := s.owner.mask.Load(), 0
	look := func(node int) {
		s.catchUp(node)
		val := s.val[node]
		if val.cond != Ready || !s.permits(q, mask, node) {
			return
		}
		room := val.spec.Capacity
		if beside {
			room = val.reserved().room(&room, s.owner.limits.Lowest, 0)
		}
		if !resources.Fits(&q.Need, &room) {
			return
		}
		n := times(&q.Need, &room)
		total += min(n, k)
		found = append(found, candidate{lack(&q.Need, &s.free[node]), node, n})
	}
	if q.Among == nil {
		for node := range s.val {
			look(node)
		}
	} else {
		seen := make(Mask, (len(s.val)+63)/64)
		for n := range q.Among {
			if uint64(n) < uint64(len(s.val)) && !seen.Has(n) {
				seen[n/64] |= 1 << (n % 64)
				look(int(n))
			}
		}
	}
	if beside && total < k {
		return nil
	}
	return found
}

// lack returns the largest missing part of a need, of one kind.
func lack(need, have *resources.Vector) (part float64) {
	for k, q := range need {
		if q > have[k] {
			part = max(part, float64(q-have[k])/float64(q))
		}
	}
	return part
}
