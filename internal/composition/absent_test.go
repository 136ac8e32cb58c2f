package composition_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

const (
	stale = 5 * time.Second // between two refreshes of a scheduler that is mostly absent
	short = 3 * time.Second // of its reservations, which it leaves to their end
)

// absentPart is a scheduler that is mostly absent. It claims on machines that drain by now,
// as its snapshot is old, and it leaves the reservations that it makes.
type absentPart struct {
	*book
	w       *world
	rand    *rand.Rand
	refused int // claims on machines that drain
}

func (w *world) addAbsent() {
	w.parts = append(w.parts, &absentPart{book: w.book(w.scheduler("absent", omega.Limits{})), w: w, rand: w.source()})
}

func (p *absentPart) run(ctx context.Context) error {
	snap, tx := p.scheduler.Snapshot(), new(omega.Txn)
	for refreshed := p.w.begin; pause(ctx, 100*time.Millisecond); {
		if time.Since(refreshed) >= stale {
			refreshed = time.Now()
			snap.Refresh(refreshed)
			if err := p.reserve(snap, tx); err != nil {
				return err
			}
		}
		for m := range p.w.cell.Machines() {
			// Room that this scheduler knows of is on machines that were ready.
			if free, ok := snap.Free(m.ID); ok && m.Condition == omega.Draining && free[0] > 0 && free[1] > 0 {
				if err := p.claim(tx, m.ID); err != nil {
					return err
				}
			}
		}
	}
	p.w.t.Logf("%d claims on machines that drain were refused", p.refused)
	return nil
}

// reserve reserves a whole machine of the largest, and leaves it at that. When no more needs
// arrive, few commits would meet it, so the scheduler ends what is over itself.
func (p *absentPart) reserve(snap *omega.Snapshot, tx *omega.Txn) error {
	tx.Reset()
	if tx.Now = time.Now(); p.w.arriving() {
		all := omega.Query{Need: resources.Vector{largest, largest}}
		snap.PlaceLater(all, 1, func(m omega.MachineID, _ int) {
			tx.Reserve(tx.Now.Add(short), omega.Claim{Machine: m, Account: p.w.accounts[0], Need: all.Need})
		})
	} else {
		for r := range snap.Reservations() {
			if r.Until.Before(tx.Now) {
				tx.Unreserve(r.ID)
			}
		}
	}
	if _, err := p.scheduler.Commit(tx); !errors.Is(err, omega.ErrTxn) {
		return err
	}
	return nil
}

// claim claims a little on a machine that drains. The cell refuses that.
func (p *absentPart) claim(tx *omega.Txn, on omega.MachineID) error {
	tx.Reset()
	tx.Claim(omega.Claim{Machine: on, Account: p.w.accounts[0], Need: resources.Vector{1, 1}})
	tx.Now = time.Now()
	if _, err := p.scheduler.Commit(tx); err != nil {
		return err
	}
	id, granted := tx.Allocation(0)
	if errors.Is(tx.Err(0), omega.ErrDraining) {
		p.refused++
	}
	if m, in := p.w.cell.State(on); granted && in && m.Condition == omega.Draining {
		p.w.t.Errorf("absent: allocation %v was granted on machine %s, which drains", id, m.Name)
	}
	if granted {
		return p.scheduler.Release(id)
	}
	return nil
}
