//go:build explore

package omega

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/internal/explore"
	"github.com/cellsched/cellsched/resources"
)

// reload saves the cell and returns the restored cell.
func (st *stage) reload() (*Cell, error) {
	var file bytes.Buffer
	if err := st.cell.Save(&file); err != nil {
		return nil, err
	}
	cell, err := Restore(&file, nil)
	if err != nil {
		return nil, err
	}
	return cell, cell.Check()
}

// isLive reports whether an allocation of a saved cell is live in the restored cell.
func isLive(c *Cell, a AllocationID) bool { return c.holds(a) && c.lives(a) }

// marksOf returns the marks of a scheduler.
func marksOf(c *Cell, name string) (marks []AllocationID) {
	for m := range must(c.Replace(name)).Marked() {
		marks = append(marks, m.Allocation.ID)
	}
	return marks
}

// preempting returns a transaction that preempts with grace.
func preempting(victims ...AllocationID) *Txn {
	tx := one(1, victims...)
	tx.Now, tx.Grace = time.Unix(1e9, 0).UTC(), time.Hour
	return tx
}

// A cell that is saved while a victim is preempted and released is restored to
// one of its four states.
func TestExplore_SaveAgainstPreemptionAndRelease(t *testing.T) {
	exploreAll(t, 2, func(r *explore.Run) {
		st := newStage(r, 1)
		low, high := st.register("low"), must(st.cell.Register("high", Limits{Highest: 1}))
		victim, _ := grantOf(low, one(0))
		tx := preempting(victim)
		r.Go("preempt", func() { must(high.Commit(tx)) })
		r.Go("release", func() {
			if err := low.Release(victim); err != nil {
				panic(err)
			}
		})
		var restored *Cell
		var err error
		r.Go("save", func() { restored, err = st.reload() })
		r.Check(func() error {
			if err != nil {
				return err
			}
			marked, took := marksOf(restored, "low"), must(restored.Replace("high")).Usage()[0] > 0
			switch {
			case isLive(restored, victim) && !took && len(marked) == 0: // before both
				return nil
			case restored.holds(victim) && !isLive(restored, victim) && took && slices.Equal(marked, []AllocationID{victim}):
				taker, _ := tx.Allocation(0)
				if at := must(restored.ReadyAt(taker)); !at.Equal(tx.Now.Add(tx.Grace)) {
					return fmt.Errorf("it may start at %v while the victim is leaving", at)
				}
				return nil // preempted
			case restored.holds(victim) || len(marked) > 0:
				return fmt.Errorf("holds the victim: %t, taken: %t, marks %v", restored.holds(victim), took, marked)
			}
			if id, ok := tx.Allocation(0); took && (!ok || !must(restored.ReadyAt(id)).Equal(time.Time{})) {
				return errors.New("it still waits for a victim that was released")
			}
			return nil // released, and preempted before or not
		})
	})
}

// With any change of a scheduler a cut has all its earlier changes, of every kind.
func TestExplore_CutHasWhatLedToAnything(t *testing.T) {
	type act struct {
		name string
		do   func(st *stage, s *Scheduler, victim AllocationID)
		in   func(c *Cell, victim AllocationID) bool // the restored cell has it
	}
	acts := []act{
		{"release of what was preempted", func(_ *stage, s *Scheduler, victim AllocationID) {
			if err := s.Release(victim); err != nil {
				panic(err)
			}
		}, func(c *Cell, victim AllocationID) bool { return !c.holds(victim) }},
		{"claim", func(_ *stage, s *Scheduler, _ AllocationID) {
			var tx Txn
			tx.Claim(Claim{Machine: s.cell.machine(1, 0), Need: resources.Vector{1}})
			must(s.Commit(&tx))
		}, func(c *Cell, _ AllocationID) bool { return load(c.words.at(1)).room[0] == 0 }},
		{"job", func(_ *stage, s *Scheduler, _ AllocationID) {
			if err := s.BeginJob(); err != nil {
				panic(err)
			}
		}, func(c *Cell, _ AllocationID) bool { return c.owners["low"].jobs.Load().count() == 1 }},
		{"mask", func(_ *stage, s *Scheduler, _ AllocationID) {
			require.NoError(t, s.Restrict(t.Context(), Mask{3}))
		}, func(c *Cell, _ AllocationID) bool { return c.owners["low"].mask.Load() != nil }},
		{"marks read", func(_ *stage, s *Scheduler, victim AllocationID) {
			for range s.Marked() { // which may prune them
				continue
			}
		}, nil},
	}
	for i, first := range acts {
		for j, second := range acts {
			if i == j || first.in == nil {
				continue
			}
			t.Run(first.name+", then "+second.name, func(t *testing.T) {
				exploreAll(t, 2, func(r *explore.Run) {
					st := newStage(r, 1)
					low, high := st.register("low"), must(st.cell.Register("high", Limits{Highest: 1}))
					victim, _ := grantOf(low, one(0))
					must(high.Commit(preempting(victim)))
					r.Go("low", func() {
						first.do(st, low, victim)
						second.do(st, low, victim)
					})
					var restored *Cell
					var err error
					r.Go("save", func() { restored, err = st.reload() })
					r.Check(func() error {
						switch {
						case err != nil:
							return err
						case second.in != nil && second.in(restored, victim) && !first.in(restored, victim):
							return fmt.Errorf("%s without %s", second.name, first.name)
						case restored.holds(victim) != slices.Equal(marksOf(restored, "low"), []AllocationID{victim}):
							return errors.New("a mark without its allocation, or the other way round")
						}
						return nil
					})
				})
			})
		}
	}
}

// An allocation that a predecessor has preempted and not yet marked keeps the successor
// from leaving. So the scheduler that a mark names is in the saved cell.
func TestExplore_SaveAgainstLeaveOfASuccessor(t *testing.T) {
	exploreAll(t, 2, func(r *explore.Run) {
		st := newStage(r, 1)
		low, high := st.register("low"), must(st.cell.Register("high", Limits{Highest: 1}))
		victim, _ := grantOf(low, one(0))
		tx := preempting(victim)
		r.Go("preempt", func() {
			if _, err := high.Commit(tx); err != nil && !errors.Is(err, ErrSuperseded) && !errors.Is(err, ErrLeft) {
				panic(err)
			}
		})
		var restored *Cell
		var err error
		r.Go("successor", func() {
			heir := must(st.cell.Replace("high"))
			for a := range heir.Allocations() {
				if err := heir.Release(a.ID); err != nil {
					panic(err)
				}
			}
			if err := heir.Leave(); err != nil && !errors.Is(err, ErrHolding) {
				panic(err)
			}
			restored, err = st.reload()
		})
		r.Check(func() error {
			if err != nil {
				return err
			}
			if marked := marksOf(restored, "low"); len(marked) == 0 && restored.holds(victim) != isLive(restored, victim) {
				return errors.New("preempted, and not marked")
			}
			_, err := st.reload()
			return err
		})
	})
}
