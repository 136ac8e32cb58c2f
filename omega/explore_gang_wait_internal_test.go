//go:build explore

package omega

import (
	"errors"
	"testing"

	"github.com/cellsched/cellsched/omega/internal/explore"
	"github.com/cellsched/cellsched/resources"
)

// filled is a stage with one unit on each machine, all of them held.
func filled(r *explore.Run) (st *stage, holder *Scheduler, live []AllocationID) {
	st = newStage(r, 1)
	holder = st.register("holder")
	for m := range uint32(exploreMachines) {
		live = append(live, must(grantOf2(holder, on(m))))
	}
	return st, holder, live
}

// pair claims two machines at once, waiting until both have room.
func pair(t *testing.T, s *Scheduler) {
	t.Helper()
	for {
		tx := on(0)
		tx.Gang = true
		tx.Claim(Claim{Machine: s.cell.machine(1, 0), Need: resources.Vector{1}})
		if must(s.Commit(tx)) == 2 {
			return
		}
		must(0, s.Wait(t.Context(), resources.Vector{1}, resources.Vector{1}))
	}
}

// A gang is woken by the last of the releases that it needs, in whichever order they
// come: it does not sleep for ever.
func TestExplore_GangAgainstReleases(t *testing.T) {
	exploreAll(t, 2, func(r *explore.Run) {
		st, holder, live := filled(r)
		s := st.register("gang")
		r.Go("gang", func() { pair(t, s) })
		r.Go("first", func() { must(0, holder.Release(live[0])) })
		r.Go("second", func() { must(0, holder.Release(live[1])) })
		r.Check(func() error { return st.rested(1) })
	})
}

// A gang with incomplete room hands the room to the waiter behind it.
func TestExplore_GangPassesTheBatonOn(t *testing.T) {
	exploreAll(t, 2, func(r *explore.Run) {
		st, holder, live := filled(r)
		gang, single := st.register("gang"), st.register("single")
		r.Go("gang", func() {
			must(0, gang.Wait(t.Context(), resources.Vector{1}, resources.Vector{1}))
			gang.Pass()
		})
		r.Go("single", func() {
			must(0, turn(t.Context(), single))
			must(0, holder.Release(live[1]))
		})
		r.Go("release", func() { must(0, holder.Release(live[0])) })
		r.Check(func() error { return st.rested(0) })
	})
}

// A waiter learns that its only machine is removed or has been replaced.
func TestExplore_WaitAgainstRemoval(t *testing.T) {
	for _, needs := range [][]resources.Vector{{{1}}, {{1}, {1}, {1}}} {
		exploreAll(t, 2, func(r *explore.Run) {
			st, holder, live := filled(r)
			for m := range uint32(exploreMachines - 1) {
				if len(needs) == 1 {
					must(st.cell.Remove(st.cell.machine(m+1, 0)))
				}
			}
			s := st.register("s")
			var err error
			r.Go("wait", func() { err = s.Wait(t.Context(), needs...) })
			r.Go("remove", func() { must(st.cell.Remove(st.cell.machine(0, 0))) })
			r.Go("release", func() { must(0, holder.Release(live[0])) })
			r.Check(func() error {
				if err != nil && !errors.Is(err, ErrNeverFits) || err == nil && len(needs) > 1 {
					return err
				}
				return errors.Join(st.unwatched(s), st.idle(), st.cell.Check())
			})
		})
	}
}
