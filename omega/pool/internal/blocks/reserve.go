package blocks

import (
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Part is an amount by which the blocks of one machine are to grow.
type Part struct {
	Node locality.Node
	Block
}

// Reserve has the cell keep room for parts of one charge, which are needed at once. A
// refused reservation is an outcome, and has ID 0. Errors: those of [Blocks.Commit].
func (b *Blocks) Reserve(now, until time.Time, parts []Part) (id omega.ReservationID, err error) {
	b.tx.Reset()
	b.tx.Now = now
	claims := make([]omega.Claim, len(parts))
	for i, p := range parts {
		claims[i] = omega.Claim{Machine: b.machines[p.Node].ID, Account: p.Account, Precedence: p.Precedence, Need: p.Size}
	}
	n := b.tx.Reserve(until, claims...)
	if err := b.send(); err != nil {
		return 0, err
	}
	id, err = b.tx.Reservation(n)
	if err != nil {
		return 0, nil //nolint:nilerr // it is an outcome
	}
	return id, nil
}

// Unreserve ends reservations. Errors: those of [Blocks.Commit].
func (b *Blocks) Unreserve(ids []omega.ReservationID) error {
	b.tx.Reset()
	for _, id := range ids {
		b.tx.Unreserve(id)
	}
	if len(ids) == 0 {
		return nil
	}
	return b.send()
}

func (b *Blocks) send() error {
	_, err := b.s.Commit(&b.tx)
	b.tx.Now = time.Time{}
	b.stale = true // room has gone or come on any of the machines
	return err
}

// Reserved returns the reservations that the scheduler has.
func (b *Blocks) Reserved() (ids []omega.ReservationID) {
	for r := range b.s.Snapshot().Reservations() {
		if r.Scheduler == b.s.Name() {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// FreeFor returns what the scheduler may claim on a machine by a reservation.
func (b *Blocks) FreeFor(node locality.Node, id omega.ReservationID) resources.Vector {
	free, _ := b.s.Snapshot().FreeFor(b.machines[node].ID, id)
	return free
}
