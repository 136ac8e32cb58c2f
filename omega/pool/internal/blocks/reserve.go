package blocks

import (
	"context"
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
func (b *Blocks) Reserve(ctx context.Context, now, until time.Time, parts []Part) (id omega.ReservationID, err error) {
	tx := &b.attempt.Txn
	tx.Reset()
	claims := make([]omega.Claim, len(parts))
	for i, p := range parts {
		claims[i] = omega.Claim{Machine: b.machines[p.Node].ID, Account: p.Account, Precedence: p.Precedence, Need: p.Size}
	}
	n := tx.Reserve(until, claims...)
	b.stale = true // room goes on any of the machines
	if err := b.send(ctx, now); err != nil {
		return 0, err
	}
	id, err = tx.Reservation(n)
	if err != nil {
		return 0, nil //nolint:nilerr // it is an outcome
	}
	return id, nil
}

// Unreserve ends reservations. Errors: those of [Blocks.Commit].
func (b *Blocks) Unreserve(ctx context.Context, ids []omega.ReservationID) error {
	b.attempt.Txn.Reset()
	for _, id := range ids {
		b.attempt.Txn.Unreserve(id)
	}
	b.stale = b.stale || len(ids) > 0 // room comes on any of the machines
	return b.send(ctx, time.Time{})
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

// Asked returns what reservations of other schedulers lack on machines. It leaves out those
// in line, those behind a reservation of the scheduler's own there, and those of a lower precedence than it may
// claim at. Cost: O(reservations × their machines).
func (b *Blocks) Asked() (lacks map[locality.Node]resources.Vector) {
	left := make(map[locality.Node]resources.Vector) // of what no allocation holds
	lowest := b.s.Limits().Lowest
	for r := range b.s.Snapshot().Reservations() {
		if r.InLine {
			continue
		}
		for _, c := range r.Claims {
			node := c.Machine.Node()
			if r.Scheduler == b.s.Name() {
				left[node] = resources.Uniform(resources.MaxQuantity)
				continue
			}
			if r.Precedence < lowest {
				continue
			}
			free, known := left[node]
			if !known {
				state, _ := b.s.Cell().State(c.Machine)
				free = state.Free.Add(state.Reserved)
			}
			for k, q := range c.Need {
				taken := min(free[k], q)
				c.Need[k], free[k] = q-taken, free[k]-taken
			}
			if left[node] = free; c.Need == (resources.Vector{}) {
				continue
			}
			if lacks == nil {
				lacks = make(map[locality.Node]resources.Vector)
			}
			lacks[node] = lacks[node].Add(c.Need)
		}
	}
	return lacks
}

// FreeFor returns what the scheduler may claim on a machine by a reservation.
func (b *Blocks) FreeFor(node locality.Node, id omega.ReservationID) resources.Vector {
	free, _ := b.s.Snapshot().FreeFor(b.machines[node].ID, id)
	return free
}
