//go:build explore

package omega

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cellsched/cellsched/omega/internal/explore"
	"github.com/cellsched/cellsched/resources"
)

// turn gets the only unit there is and gives it back. It waits for the unit where needed.
func turn(ctx context.Context, s *Scheduler) error {
	for {
		if id, ok := grantOf(s, one(0)); ok {
			return s.Release(id)
		}
		if err := s.Wait(ctx, resources.Vector{1}); err != nil {
			return err
		}
	}
}

// Waiters are woken when room is freed, one after the other. No waiter sleeps for ever,
// or the explorer would find that all wait.
func TestExplore_BatonAgainstRelease(t *testing.T) {
	exploreAll(t, 2, func(r *explore.Run) {
		st := newStage(r, 1)
		first := st.register("first")
		held, _ := grantOf(first, one(0))
		for _, name := range []string{"a", "b"} {
			s := st.register(name)
			r.Go(name, func() { must(0, turn(t.Context(), s)) })
		}
		r.Go("release", func() { must(0, first.Release(held)) })
		r.Check(func() error { return st.rested(0) })
	})
}

// Room for two that is freed at once wakes two waiters: the first, which does not give
// its share back, passes the token on.
func TestExplore_BatonIsPassedOn(t *testing.T) {
	exploreAll(t, 2, func(r *explore.Run) {
		st := newStage(r, 2)
		first := st.register("first")
		tx := &Txn{}
		tx.Claim(Claim{Machine: st.cell.machine(0, 0), Need: resources.Vector{2}})
		held, _ := grantOf(first, tx)
		for _, name := range []string{"a", "b"} {
			s := st.register(name)
			r.Go(name, func() {
				for _, ok := grantOf(s, one(0)); !ok; _, ok = grantOf(s, one(0)) {
					must(0, s.Wait(t.Context(), resources.Vector{1}))
				}
			})
		}
		r.Go("release", func() { must(0, first.Release(held)) })
		r.Check(func() error { return st.rested(2) })
	})
}

// A waiter that gives up just when it is woken hands the token on.
func TestExplore_BatonAgainstCancellation(t *testing.T) {
	exploreAll(t, 2, func(r *explore.Run) {
		st := newStage(r, 1)
		first := st.register("first")
		held, _ := grantOf(first, one(0))
		ctx, cancel := context.WithCancel(t.Context())
		impatient, patient := st.register("impatient"), st.register("patient")
		r.Go("impatient", func() {
			if err := turn(ctx, impatient); err != nil && ctx.Err() == nil {
				panic(err)
			}
		})
		r.Go("patient", func() { must(0, turn(t.Context(), patient)) })
		r.Go("cancel", cancel)
		r.Go("release", func() { must(0, first.Release(held)) })
		r.Check(func() error { return st.rested(0) })
	})
}

// rested is sound where no scheduler waits any more.
func (st *stage) rested(live int) error { return errors.Join(st.idle(), st.sound(live)) }

// idle returns an error if a scheduler is in the line.
func (st *stage) idle() error {
	if n := len(st.cell.waiters.line); n > 0 || st.cell.waiting() {
		return fmt.Errorf("%d in the line", n)
	}
	return nil
}
