package blocks

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Commit sends all orders in one transaction, in which each machine takes all of its
// blocks or none. A refused order is an outcome: its machine has no free room until it
// changes, or the room that the cell has found. Errors: those of the store, after which
// nothing has changed; see [Lost].
func (b *Blocks) Commit(ctx context.Context, orders []Order) error {
	b.attempt.Txn.Reset()
	b.sent = b.sent[:0]
	for i := range orders {
		b.add(&orders[i])
	}
	if err := b.send(ctx, time.Time{}); err != nil {
		return err
	}
	for i := range b.sent {
		b.outcome(&b.sent[i])
	}
	return nil
}

// send commits the transaction. While the outcome is unknown it asks again, but for a journal
// that has failed: that never tells.
func (b *Blocks) send(ctx context.Context, now time.Time) error {
	for {
		if _, err := b.attempt.Commit(ctx, now); !errors.Is(err, omega.ErrOutcome) || Lost(err) {
			return err
		}
		Pause(b.attempt.Doubt())
	}
}

// again is the pause before a store that has failed is asked again.
var again = omega.Backoff{Min: time.Millisecond, Max: time.Second}

// Pause waits after a store has failed for so many times in a row.
func Pause(failures int) { <-time.After(again.After(failures)) }

// Lost reports whether an error tells that the scheduler can commit nothing any more.
func Lost(err error) bool {
	return errors.Is(err, omega.ErrSuperseded) || errors.Is(err, omega.ErrLeft) || errors.Is(err, omega.ErrJournal)
}

// add adds an order to the transaction: an exchange of the blocks that change.
func (b *Blocks) add(o *Order) {
	m := &b.machines[o.Node]
	one := sent{order: o, first: -1}
	var claims []omega.Claim
	for i, want := range o.Want {
		if want.Size != (resources.Vector{}) && !m.alone(want) {
			one.claims = append(one.claims, i)
			claims = append(claims, omega.Claim{Machine: m.ID, Account: want.Account, Precedence: want.Precedence, Need: want.Size})
		}
	}
	for i := range m.blocks {
		have := &m.blocks[i]
		if !slices.ContainsFunc(o.Want, func(want Block) bool { return want.Charge == have.Charge && m.alone(want) }) {
			one.from = append(one.from, have.id)
		}
	}
	switch {
	case len(claims) > 0:
		claims[0].Reservation = o.Reservation
		one.first = b.attempt.Txn.Exchange(one.from, claims...)
	case len(one.from) > 0:
		for _, id := range one.from {
			b.attempt.Txn.Release(id)
		}
	default:
		return
	}
	b.sent = append(b.sent, one)
}

// alone reports whether the one block of a charge has the wanted size already.
func (m *Machine) alone(want Block) bool {
	n := 0
	for i := range m.blocks {
		if m.blocks[i].Charge == want.Charge {
			if n++; m.blocks[i].Size != want.Size {
				return false
			}
		}
	}
	return n == 1
}

// outcome applies what became of an order.
func (b *Blocks) outcome(one *sent) {
	node := one.order.Node
	m := &b.machines[node]
	if one.first >= 0 {
		if err := b.attempt.Txn.Err(one.first); err != nil {
			b.refused(node, err)
			return
		}
	}
	old := m.Blocks()
	m.blocks = slices.DeleteFunc(m.blocks, func(have block) bool { return slices.Contains(one.from, have.id) })
	for n, i := range one.claims {
		id, _ := b.attempt.Txn.Allocation(one.first + n)
		made := block{Block: one.order.Want[i], id: id}
		if at, err := b.s.Cell().ReadyAt(id); err == nil && !at.IsZero() {
			made.wait = made.Size
			for _, had := range old {
				if had.Charge == made.Charge { // that part runs already
					made.wait, _ = made.Size.Sub(made.Size.Min(had.Size))
				}
			}
		}
		m.blocks = append(m.blocks, made)
	}
	b.settle(node)
	m.Free, _ = b.s.Snapshot().Free(m.ID)
}

// refused notes the room of a machine that has refused an order.
func (b *Blocks) refused(node locality.Node, err error) {
	m := &b.machines[node]
	if errors.Is(err, omega.ErrConflict) {
		m.Free, _ = b.s.Snapshot().Free(m.ID)
	} else {
		m.Free = resources.Vector{} // until it changes
	}
	if errors.Is(err, omega.ErrReleased) {
		b.reconcile(node) // a claim has preempted a block, and the mark may be on its way
	}
}
