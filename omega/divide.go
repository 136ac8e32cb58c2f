package omega

import (
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// remnant is the part of a divisible victim that a claim leaves. It takes a slot as the claim
// does, in the same version of the machine.
type remnant struct {
	of   AllocationID
	item item // its slot and the contents of that, as for a claim
	used bool // by the last version that was tried
}

// remnantOf returns the rest of a victim, or nil.
func (t *Txn) remnantOf(a AllocationID) *remnant {
	if i := slices.IndexFunc(t.remnants, func(r remnant) bool { return r.of == a }); i >= 0 {
		return &t.remnants[i]
	}
	return nil
}

// divide gives divisible victims back the room that is spare beyond the claims of a unit.
// The victims that are named last come first. It returns the allocations that leave. The
// victims' room is in b.free by then. spare leaves out the room that reservations lack. A
// victim of which nothing is needed stays as it is. divide returns false where the
// machine has no slot left.
func (s *Scheduler) divide(tx *Txn, unit []int32, spare *resources.Vector, victims leaving, b *building, at table, seq uint64) (leaving, bool) {
	n := len(victims)
	for _, i := range slices.Backward(unit) {
		it := &tx.items[i]
		for v := range slices.Backward(it.claim.Victims) {
			n--
			gone := &tx.gone[int(it.gone)+len(it.from)+v]
			old := *gone
			r := tx.remnantOf(it.claim.Victims[v])
			if r != nil {
				r.used = false // until this version leaves a remnant
			}
			if !old.tally.owner.limits.Divisible {
				continue
			}
			left := old.need.Min(*spare)
			if left == (resources.Vector{}) {
				continue
			}
			sub(spare, &left)
			sub(&b.free, &left)
			if left == old.need {
				// Nothing of the victim is needed: it stays live.
				b.live.toggle(it.claim.Victims[v].slot())
				gone.tally = nil
				victims = slices.Delete(victims, n, n+1)
				continue
			}
			sub(&victims[n].need, &left)
			if r == nil {
				tx.remnants = append(tx.remnants, remnant{of: it.claim.Victims[v]})
				r = &tx.remnants[len(tx.remnants)-1]
				r.item.claim.Machine = it.claim.Machine
			}
			ext := old.ext
			if ext != nil {
				ext = &extension{after: ext.after, had: ext.had.Min(left)}
			}
			r.item.changed = r.item.claim.Need != left
			r.item.claim.Need, r.item.tally, r.item.grantee = left, old.tally, old.grantee
			if !s.place(tx, &r.item, ext, &b.live, at, seq) {
				return nil, false
			}
			b.live.toggle(r.item.id.slot())
			r.used = true
		}
	}
	return victims, true
}

// finishRemnants empties the slots that were taken for remnants and are not used.
func (s *Scheduler) finishRemnants(tx *Txn) {
	for i := range tx.remnants {
		r := &tx.remnants[i]
		if !r.item.own || r.used && tx.granted(r.of) {
			continue
		}
		s.cell.table(r.of.node()).empty(r.item.id.slot(), r.item.last)
	}
}

// granted reports whether a claim that names a victim is granted.
func (t *Txn) granted(victim AllocationID) bool {
	for i := range t.items {
		if it := &t.items[i]; it.kind != releaseItem && it.verdict == done && slices.Contains(it.claim.Victims, victim) {
			return true
		}
	}
	return false
}
