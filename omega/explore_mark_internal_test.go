//go:build explore

package omega

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cellsched/cellsched/omega/internal/explore"
	"github.com/cellsched/cellsched/resources"
)

// above registers a scheduler that may preempt.
func (st *stage) above(name string) *Scheduler {
	return must(st.cell.Register(name, Limits{Highest: 1}))
}

// A call that is cancelled at the moment of a mark returns either; the mark then ends
// the next call.
func TestExplore_MarkAgainstWaitMarkAndCancellation(t *testing.T) {
	exploreAll(t, 2, func(r *explore.Run) {
		st := newStage(r, 1)
		low, high := st.register("low"), st.above("high")
		victim, _ := grantOf(low, one(0))
		ctx, cancel := context.WithCancel(t.Context())
		var first error
		r.Go("wait", func() { first = low.WaitMark(ctx) })
		r.Go("cancel", cancel)
		r.Go("preempt", func() { grantOf(high, one(1, victim)) })
		r.Check(func() error {
			if first != nil {
				if ctx.Err() == nil {
					return first
				}
				if err := low.WaitMark(t.Context()); err != nil {
					return err
				}
			}
			if last, stands := low.owner.newer(st.cell, low.told.Load()); stands || last != 1 {
				return fmt.Errorf("%d marks, %d told", last, low.told.Load())
			}
			return st.unwatched(low)
		})
	})
}

// Two schedulers preempt at once. A runner that releases its marked allocations learns of
// both marks.
func TestExplore_TwoMarksAgainstWaitMark(t *testing.T) {
	exploreAll(t, 2, func(r *explore.Run) {
		st := newStage(r, 2)
		low := st.register("low")
		var victims []AllocationID
		for i := range 2 {
			id, _ := grantOf(low, one(0))
			victims = append(victims, id)
			high := st.above(fmt.Sprint("high", i))
			r.Go(fmt.Sprint("preempt", i), func() { grantOf(high, one(1, id)) })
		}
		var told []AllocationID
		r.Go("runner", func() {
			for len(told) < 2 {
				must(0, low.WaitMark(t.Context()))
				for m := range low.Marked() {
					told = append(told, m.Allocation.ID)
					must(0, low.Release(m.Allocation.ID))
				}
			}
		})
		r.Check(func() error {
			for _, id := range victims {
				if !slices.Contains(told, id) {
					return fmt.Errorf("told of %v, not of %v", told, id)
				}
			}
			return errors.Join(st.unwatched(low), st.sound(2))
		})
	})
}

// The same from one goroutine that also waits for room, beside a runner that only
// looks at marks.
func TestExplore_MarkAgainstWaitForRoom(t *testing.T) {
	exploreAll(t, 2, func(r *explore.Run) {
		st := newStage(r, 1)
		low, high := st.register("low"), st.above("high")
		victim, _ := grantOf(low, one(0))
		must(0, low.Wait(t.Context(), resources.Vector{1})) // the other machines are news
		r.Go("preempt", func() { grantOf(high, one(1, victim)) })
		r.Go("runner", func() { must(0, low.WaitMark(t.Context())) })
		r.Go("wait", func() { must(0, low.Wait(t.Context(), resources.Vector{1})) })
		r.Check(func() error { return errors.Join(st.unwatched(low), st.rested(1)) })
	})
}

// A mark that is released before the scheduler has looked wakes it for nothing, and the
// next one wakes it again.
func TestExplore_ReleasedMarkAgainstWaitForRoom(t *testing.T) {
	exploreAll(t, 2, func(r *explore.Run) {
		st := newStage(r, 2)
		low, high := st.register("low"), st.above("high")
		first, _ := grantOf(low, one(0))
		second, _ := grantOf(low, one(0))
		r.Go("preempt", func() {
			grantOf(high, one(1, first))
			must(0, low.Release(first))
			grantOf(high, one(1, second))
		})
		r.Go("wait", func() {
			for !marked(low, second) {
				must(0, low.Wait(t.Context(), resources.Vector{2}))
			}
		})
		r.Check(func() error { return errors.Join(st.unwatched(low), st.rested(2)) })
	})
}

// marked reports whether an allocation is marked.
func marked(s *Scheduler, a AllocationID) bool {
	for m := range s.Marked() {
		if m.Allocation.ID == a {
			return true
		}
	}
	return false
}

// A mark, room, and a cancellation at once: the room is not lost to the others.
func TestExplore_MarkAgainstBaton(t *testing.T) {
	exploreAll(t, 1, func(r *explore.Run) {
		st := newStage(r, 1)
		low, high, holder, other := st.register("low"), st.above("high"), st.register("holder"), st.register("other")
		victim, _ := grantOf(low, one(0))
		full, _ := grantOf(holder, on(1))
		must(grantOf2(holder, on(2)))
		for _, s := range []*Scheduler{low, other} {
			s.Snapshot()
		}
		r.Go("preempt", func() { grantOf(high, one(1, victim)) })
		r.Go("release", func() { must(0, holder.Release(full)) })
		r.Go("low", func() {
			must(0, low.Wait(t.Context(), resources.Vector{1}))
			low.Pass()
		})
		r.Go("other", func() {
			for _, ok := grantOf(other, on(1)); !ok; _, ok = grantOf(other, on(1)) {
				must(0, other.Wait(t.Context(), resources.Vector{1}))
			}
		})
		r.Check(func() error { return errors.Join(st.unwatched(low), st.rested(1)) })
	})
}

// A scheduler that is replaced, or removed with its machine, does not wait on.
func TestExplore_WaitMarkAgainstReplacementAndRemoval(t *testing.T) {
	exploreAll(t, 2, func(r *explore.Run) {
		st := newStage(r, 1)
		low := st.register("low")
		under := must(low.Deputy("under", Limits{}))
		grantOf(low, one(0))
		var own, deputys error
		r.Go("own", func() {
			own = low.WaitMark(t.Context())
		})
		r.Go("deputy", func() { deputys = under.WaitMark(t.Context()) })
		r.Go("remove", func() { must(st.cell.Remove(st.cell.machine(0, 0))) })
		r.Go("replace", func() { must(st.cell.Replace("low")) })
		r.Check(func() error {
			if own != nil && !errors.Is(own, ErrSuperseded) || !errors.Is(deputys, ErrSuperseded) {
				return fmt.Errorf("own: %w, deputy's: %w", own, deputys)
			}
			return errors.Join(st.unwatched(low), st.unwatched(under))
		})
	})
}

// unwatched returns an error if a goroutine is counted that waits for marks.
func (st *stage) unwatched(s *Scheduler) error {
	ws := &s.owner.watchers
	if len(ws.list) > 0 || ws.count.Load() > 0 {
		return fmt.Errorf("%d wait for marks of %q", len(ws.list), s.owner.name)
	}
	return nil
}

// on is a claim of one unit on a machine.
func on(machine uint32) *Txn {
	tx := &Txn{}
	tx.Claim(Claim{Machine: explored(machine), Need: resources.Vector{1}})
	return tx
}

// grantOf2 is grantOf for a commit that cannot fail.
func grantOf2(s *Scheduler, tx *Txn) (AllocationID, error) {
	id, ok := grantOf(s, tx)
	if !ok {
		return id, tx.Err(0)
	}
	return id, nil
}
