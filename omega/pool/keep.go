package pool

import (
	"context"
	"slices"
	"time"

	"github.com/cellsched/cellsched/internal/luby"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool/internal/blocks"
	"github.com/cellsched/cellsched/resources"
)

// Reservations of a pool on a cell. The pool keeps a machine for a request that has waited
// beyond its patience, as without a cell. The part of the need that the pool's blocks do
// not cover is reserved in the cell, so that no other scheduler takes it. Room freed in a
// block stays with the pool; other freed room goes to the cell's reservation.

// keptInCell is a reservation in the cell for one of the pool.
type keptInCell struct {
	of    *reservation
	id    omega.ReservationID // 0 if the cell has refused it
	until time.Time
}

// keeping is a reservation that is to begin.
type keeping struct {
	of    *reservation
	parts []blocks.Part
	until time.Time
}

// keptFor bounds the first reservation in the cell: a process that stops reserves no longer
// than that. A request that waits on reserves again, for times of package luby, so that one
// is long enough: see [omega.Reservation].
const keptFor = time.Hour

// reservationOf returns the reservation in the cell for w, 0 for none.
func (cm *committer) reservationOf(w *waiter) omega.ReservationID {
	if w == nil || w.kept == nil {
		return 0
	}
	for i := range cm.kept {
		if cm.kept[i].of == w.kept {
			return cm.kept[i].id
		}
	}
	return 0
}

// keeps returns the reservations to begin in the cell, and the reservations to end.
func (cm *committer) keeps(now time.Time) (begin []keeping, end []omega.ReservationID) {
	cm.kept = slices.DeleteFunc(cm.kept, func(k keptInCell) bool {
		late := !now.Before(k.until)
		if over := late || k.of.over; !over || k.id == 0 {
			return over
		}
		if cm.unkept = append(cm.unkept, k.id); late {
			k.of.short++
		}
		return true
	})
	for _, w := range cm.reserving.list {
		if slices.ContainsFunc(cm.kept, func(k keptInCell) bool { return k.of == w.kept }) {
			continue
		}
		if parts := cm.lacks(w); parts != nil {
			begin = append(begin, keeping{w.kept, parts, now.Add(luby.Length(keptFor, w.kept.short))})
		}
	}
	return begin, cm.unkept
}

// nextOver returns when the next reservation in the cell ends by its time, the zero time if
// there is none. It is then to be followed by another one at once: others would take the
// room that it kept.
func (cm *committer) nextOver() (next time.Time) {
	for i := range cm.kept {
		if at := cm.kept[i].until; next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

// lacks returns the room that blocks lack for w on the machines reserved for it.
func (cm *committer) lacks(w *waiter) (parts []blocks.Part) {
	charge := cm.lend.charges[cm.lend.chargeOf(w.tenant)]
	for node := range slices.Values(slices.Compact(slices.Sorted(slices.Values(w.kept.nodes)))) {
		var need resources.Vector
		for i, at := range w.kept.nodes {
			if at == node {
				need = need.Add(*w.needAt(i))
			}
		}
		for k, have := range cm.books.machines[node].unasked() {
			need[k] = max(0, need[k]-have)
		}
		if need != (resources.Vector{}) {
			parts = append(parts, blocks.Part{Node: node, Block: blocks.Block{Charge: charge, Size: need}})
		}
	}
	return parts
}

// reserveInCell begins and ends reservations. Called without the mutex.
func (cm *committer) reserveInCell(ctx context.Context, begin []keeping, end []omega.ReservationID) error {
	now := time.Now()
	if err := cm.blocks.Unreserve(ctx, end); err != nil {
		return err
	}
	cm.unkept = nil
	for _, one := range begin {
		id, err := cm.blocks.Reserve(ctx, now, one.until, one.parts)
		if err != nil {
			return err
		}
		cm.kept = append(cm.kept, keptInCell{one.of, id, one.until})
	}
	return nil
}
