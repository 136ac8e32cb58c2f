package composition_test

import (
	"context"
	"errors"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// idlePart has tasks of the lowest precedence in room that is idle, and gives it back as
// the others need it.
type idlePart struct {
	*book
	w    *world
	born map[omega.AllocationID]time.Time
}

func (w *world) addIdle() {
	s := w.scheduler("idle", omega.Limits{Held: &resources.Vector{60, 60}, Lowest: -2, Highest: -1})
	w.parts = append(w.parts, &idlePart{book: w.book(s), w: w, born: map[omega.AllocationID]time.Time{}})
}

func (p *idlePart) run(ctx context.Context) error {
	for pause(ctx, time.Second) {
		var tx omega.Txn
		for mark := range p.scheduler.Marked() {
			p.end(&tx, mark.Allocation.ID)
		}
		for id, born := range p.born {
			if time.Since(born) > longest-2*time.Second || !p.w.arriving() {
				p.end(&tx, id)
			}
		}
		claimed, need := tx.Len(), resources.Vector{1, 1}
		if p.w.arriving() {
			view := p.scheduler.Snapshot()
			view.Refresh(time.Now())
			view.Place(omega.Query{Need: need}, omega.NextFit(), 40-len(p.born), func(m omega.MachineID, tasks int) {
				for range tasks {
					tx.Claim(omega.Claim{Machine: m, Need: need, Precedence: -2, Account: p.w.accounts[2]})
				}
			})
		}
		if _, err := p.scheduler.CommitContext(ctx, &tx); err != nil && !errors.Is(err, omega.ErrEmpty) {
			return err
		}
		for i := claimed; i < tx.Len(); i++ {
			if id, granted := tx.Allocation(i); granted {
				p.starts(id, task{need, p.w.accounts[2], -2})
				p.born[id] = time.Now()
			}
		}
	}
	return nil
}

func (p *idlePart) end(tx *omega.Txn, id omega.AllocationID) {
	tx.Release(id)
	p.ends(id)
	delete(p.born, id)
}
