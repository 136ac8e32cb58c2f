package loop_test

import (
	"context"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// preempt takes the place of an allocation; its owner has a minute.
func preempt(tb interface {
	require.TestingT
	Helper()
}, s *omega.Scheduler, cell *omega.Cell, now time.Time, victim omega.AllocationID,
) omega.AllocationID {
	tb.Helper()
	var on omega.MachineID
	for m := range cell.Machines() {
		if m.ID.Node() == victim.Node() {
			on = m.ID
		}
	}
	tx := omega.Txn{Now: now, Grace: time.Minute}
	tx.Claim(omega.Claim{
		Machine: on, Need: resources.Vector{1}, Precedence: 1, Victims: []omega.AllocationID{victim},
	})
	_, err := s.Commit(&tx)
	require.NoError(tb, err)
	a, ok := tx.Allocation(0)
	require.True(tb, ok, tx.Err(0))
	return a
}

// marks returns the marks of the Preempted events of a job.
func marks(r *rig, key string) (all []omega.Mark) {
	for _, e := range r.events {
		if e.Kind == loop.Preempted && e.Pending.Job().Key == key {
			all = append(all, *e.Mark)
		}
	}
	return all
}

func TestStep_ReportsEachPreemptedAllocationOnce(t *testing.T) {
	cell := newCell(t, 4, 4)
	r := newRig(t, cell, loop.Config[string]{})
	high := register(t, cell, "high")
	r.submit(t, epoch, job("a", 2, 1))
	r.submit(t, epoch, job("b", 2, 2))
	r.settle(t, epoch)
	b := r.submit(t, epoch, job("c", 2, 4)) // for which there is no room
	r.settle(t, epoch)
	r.log()

	victim := r.held["a"][1]
	preempt(t, high, cell, at(10), victim)
	r.step(t, at(11))
	require.Equal(t, "a preempted", r.log()[0])
	r.step(t, at(11.5))
	require.NotContains(t, r.log(), "a preempted", "though its mark stands")

	lost := r.held["b"]
	for m := range cell.Machines() {
		if m.ID.Node() == lost[0].Node() || m.ID.Node() == lost[1].Node() {
			_, err := cell.Remove(m.ID)
			require.NoError(t, err)
		}
	}
	r.step(t, at(12))
	want := map[omega.AllocationID]bool{}
	for _, a := range append(lost, r.held["a"][0]) {
		if _, there := cell.State(machineOf(cell, a)); !there {
			want[a] = true
		}
	}
	got := map[omega.AllocationID]bool{}
	for _, key := range []string{"a", "b"} {
		for _, m := range marks(r, key) {
			require.False(t, got[m.Allocation.ID], "twice")
			require.Equal(t, omega.Lost, m.Fate)
			got[m.Allocation.ID] = true
		}
	}
	require.Equal(t, want, got)
	require.EqualValues(t, 1+len(got), r.Stats().Preempted)
	require.False(t, b.Done())
	require.NoError(t, cell.Check())
}

// machineOf returns the machine of an allocation, the zero one if it is gone.
func machineOf(cell *omega.Cell, a omega.AllocationID) (found omega.MachineID) {
	for m := range cell.Machines() {
		if m.ID.Node() == a.Node() {
			found = m.ID
		}
	}
	return found
}

func TestStep_SaysWhatPreempted(t *testing.T) {
	cell := newCell(t, 4)
	r := newRig(t, cell, loop.Config[string]{})
	high := register(t, cell, "high")
	p := r.submit(t, epoch, job("j", 1, 1))
	r.settle(t, epoch)
	require.True(t, p.Done())
	r.log()
	preempt(t, high, cell, at(10), r.held["j"][0])
	require.Zero(t, r.settle(t, at(12)), "the loop has nothing more to do")

	require.Len(t, r.events, 1)
	e := r.events[0]
	require.Equal(t, loop.Preempted, e.Kind)
	require.Same(t, p, e.Pending)
	require.Equal(t, at(12), e.At)
	require.Equal(t, at(70), e.Until)
	require.Equal(t, "high", e.Mark.By)
	require.Equal(t, omega.Preempted, e.Mark.Fate)
	require.Equal(t, r.held["j"][0], e.Mark.Allocation.ID)
	require.Empty(t, e.Allocations, "it hands over nothing")
	require.Zero(t, e.Left)
	require.True(t, r.sched.Holds(e.Mark.Allocation.ID), "it is the caller's to release")
	require.NoError(t, r.sched.Release(e.Mark.Allocation.ID))
	require.False(t, r.sched.Holds(e.Mark.Allocation.ID))

	var text strings.Builder
	slog.New(slog.NewTextHandler(&text, nil)).Info("", "job", e)
	require.Contains(t, text.String(), `job.event=preempted job.left=0 job.attempts=1 job.age=12s job.allocation=`)
	require.Contains(t, text.String(), `job.fate=preempted job.by=high job.stop_in=58s`)
}

// What the caller has released by then is not reported, whether it is read early or
// late, and neither is what the loop has not granted.
func TestStep_DoesNotReportWhatIsReleased(t *testing.T) {
	cell := newCell(t, 4)
	r := newRig(t, cell, loop.Config[string]{})
	high := register(t, cell, "high")
	own := claim(t, r.sched, "m0", cell, 1)
	r.submit(t, epoch, job("j", 2, 1))
	r.settle(t, epoch)
	preempt(t, high, cell, epoch, own)
	preempt(t, high, cell, epoch, r.held["j"][0])
	require.NoError(t, r.sched.Release(r.held["j"][0]))
	r.settle(t, at(1))
	require.Equal(t, []string{"j submitted", "j placed 2", "j complete"}, r.log())
	preempt(t, high, cell, epoch, r.held["j"][1])
	r.settle(t, at(1))
	require.Equal(t, []string{"j preempted"}, r.log())
}

// A job can be submitted again from the hook.
func TestStep_PlacesAgainWhatTheHookSubmits(t *testing.T) {
	cell := newCell(t, 4)
	var r *rig
	r = newRig(t, cell, loop.Config[string]{Observe: func(e loop.Event[string]) {
		if e.Kind == loop.Preempted {
			again := *e.Pending.Job()
			again.Tasks, again.Key = 1, again.Key+"'"
			r.submit(t, e.At, again)
			require.NoError(t, r.sched.Release(e.Mark.Allocation.ID))
		}
	}})
	gang := job("j", 3, 1)
	gang.Gang = true
	r.submit(t, epoch, gang)
	r.settle(t, epoch)
	r.log()
	preempt(t, register(t, cell, "high"), cell, epoch, r.held["j"][1])
	r.settle(t, at(1))
	require.Equal(t, []string{"j preempted", "j' submitted", "j' placed 1", "j' complete"}, r.log())
}

// Of many jobs that come and go the loop keeps those only that hold something, and
// finds those that are marked before and after it has looked one up.
func TestStep_FindsTheJobAmongMany(t *testing.T) {
	cell := newCell(t, 1<<20)
	r := newRig(t, cell, loop.Config[string]{})
	high := register(t, cell, "high")
	for round := range 3 {
		for range 8000 {
			r.submit(t, epoch, job("brief", 1, 1))
			r.step(t, epoch)
			require.NoError(t, r.sched.Release(r.held["brief"][0]))
			delete(r.held, "brief")
		}
		r.submit(t, epoch, job("long", 2, 1))
		for range 1000 {
			r.submit(t, epoch, job("brief", 1, 1))
			r.step(t, epoch)
		}
		require.Less(t, loop.Kept(r.Loop), 2*1010*(round+1)+1100, "twice what is held, and a few")
		r.log()
		last := r.held["long"][2*round+1]
		preempt(t, high, cell, epoch, last)
		r.settle(t, epoch)
		require.Len(t, marks(r, "long"), 1)
		require.Equal(t, last, marks(r, "long")[0].Allocation.ID)
	}
}

// An allocation that was preempted before its commit's outcome was known is told of
// after it was handed over.
func TestStep_ReportsWhatWasPreemptedInDoubt(t *testing.T) {
	for name, live := range map[string]bool{"in steps": false, "in Run": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cell := newCell(t, 8)
				f, r := newFaulty(t, cell, loop.Config[string]{MinDelay: time.Minute, MaxDelay: time.Minute})
				f.unsure = 1
				high := register(t, cell, "high")
				start := time.Now()
				r.submit(t, start, job("j", 1, 1))
				if live {
					stop := r.run(t)
					defer func() { require.Equal(t, errStop, stop()) }()
				} else {
					r.settle(t, start)
				}
				for a := range f.Scheduler.Allocations() {
					preempt(t, high, cell, start, a.ID)
				}
				if live {
					time.Sleep(time.Hour)
				} else {
					r.settle(t, start.Add(time.Minute))
					r.settle(t, start.Add(time.Minute))
				}
				synctest.Wait()
				require.Equal(t, []string{"j submitted", "j in doubt", "j placed 1", "j complete", "j preempted"}, r.log())
			})
		})
	}
}

func TestRun_IsWokenWhenAnAllocationIsPreempted(t *testing.T) {
	tests := map[string]func(cell *omega.Cell, r *rig) omega.Store{
		"by the cell": func(_ *omega.Cell, r *rig) omega.Store { return omega.Local{Scheduler: r.sched} },
		"whose store cannot wait for marks": func(_ *omega.Cell, r *rig) omega.Store {
			return unmarked{omega.Local{Scheduler: r.sched}}
		},
	}
	for name, store := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cell := newCell(t, 4, 1)
				s := register(t, cell, "s")
				r := newRig(t, cell, loop.Config[string]{
					Store: store(cell, &rig{sched: s}), MinDelay: time.Hour, MaxDelay: time.Hour,
				})
				stop := r.run(t)
				high := register(t, cell, "high")
				start := time.Now()
				r.submit(t, start, job("idle", 2, 1))
				time.Sleep(time.Minute)
				synctest.Wait()
				preempt(t, high, cell, time.Now(), r.held["idle"][0])
				synctest.Wait()
				want := map[string]time.Duration{"idle": time.Minute}
				if name != "by the cell" {
					want = map[string]time.Duration{}
				}
				require.Equal(t, want, seen(r, loop.Preempted, start))
				// Beside a job that waits for room, too.
				r.submit(t, time.Now(), job("large", 1, 4))
				synctest.Wait()
				r.log()
				time.Sleep(time.Minute)
				synctest.Wait()
				preempt(t, high, cell, time.Now(), r.held["idle"][1])
				synctest.Wait()
				if name != "by the cell" {
					time.Sleep(2 * time.Hour)
					synctest.Wait()
					require.Len(t, seen(r, loop.Preempted, start), 1, "with the next step")
				} else {
					require.Equal(t, map[string]time.Duration{"idle": 2 * time.Minute}, seen(r, loop.Preempted, start))
				}
				require.Equal(t, errStop, stop())
			})
		})
	}
}

// unmarked is a store that has marks and cannot wait for them.
type unmarked struct{ omega.Local }

func (unmarked) WaitMark(context.Context) error { return errStore }

// deaf is a store without marks.
type deaf struct {
	blind
}

func (d deaf) Marked() iter.Seq[omega.Mark] { return d.local.Marked() }

func TestStep_ReportsNothingWithoutAMarker(t *testing.T) {
	cell := newCell(t, 4)
	s := register(t, cell, "s")
	r := newRig(t, cell, loop.Config[string]{Store: deaf{blind{omega.Local{Scheduler: s}}}})
	r.submit(t, epoch, job("j", 1, 1))
	r.settle(t, epoch)
	preempt(t, register(t, cell, "high"), cell, epoch, r.held["j"][0])
	require.Zero(t, r.settle(t, epoch))
	require.Equal(t, []string{"j submitted", "j placed 1", "j complete"}, r.log())
}

// A task of a job that has others left is reported, too.
func TestStep_ReportsATaskOfAJobThatIsNotComplete(t *testing.T) {
	cell := newCell(t, 2)
	r := newRig(t, cell, loop.Config[string]{MinDelay: time.Hour, MaxDelay: time.Hour})
	r.submit(t, epoch, job("j", 3, 1))
	r.settle(t, epoch)
	preempt(t, register(t, cell, "high"), cell, epoch, r.held["j"][1])
	r.step(t, at(1))
	require.Equal(t, []string{"j submitted", "j placed 2", "j backed off", "j preempted"}, r.log())
	require.Equal(t, 1, r.Stats().Waiting, "its task is not placed again")
}

func TestPlaceOrPreempt_MakesRoomForEachTaskOnAMachineOfItsOwn(t *testing.T) {
	cell := newCell(t, 4, 4, 4)
	r := newRig(t, cell, loop.Config[string]{Place: loop.PlaceOrPreempt[string](omega.NextFit(), time.Minute, nil)})
	r.submit(t, epoch, job("low", 5, 2)) // one machine has 2 left
	r.settle(t, epoch)
	gang := job("gang", 3, 2)
	gang.Gang, gang.Precedence = true, 5
	r.submit(t, epoch, gang)
	r.settle(t, at(1))
	require.Len(t, r.held["gang"], 3, "one where there was room, two by preemption")
	require.Len(t, marks(r, "low"), 2)

	more := job("more", 4, 3)
	more.Gang, more.Precedence = true, 5
	r.submit(t, at(2), more)
	r.settle(t, at(2))
	require.Empty(t, r.held["more"], "there are three machines")
	require.Len(t, marks(r, "low"), 2, "so none is preempted for it")
	require.NoError(t, cell.Check())
}

// Losses of one task of a job count for the next one.
func TestPlaceOrPreempt_CountsLossesOverTheJob(t *testing.T) {
	cell := newCell(t, 2, 2)
	lost := 0
	ranks := func(*loop.Job[string]) omega.Ranking {
		r := omega.RankBelow(5)
		lost = 0
		r.Lose = func(omega.Allocation, resources.Vector) bool {
			if lost == 1 {
				return false
			}
			lost++
			return true
		}
		r.Keep = func(omega.Allocation) { lost-- }
		return r
	}
	r := newRig(t, cell, loop.Config[string]{Place: loop.PlaceOrPreempt(omega.NextFit(), time.Minute, ranks)})
	high := register(t, cell, "high")
	for _, m := range []string{"m0", "m1"} {
		claim(t, high, m, cell, 2)
	}
	j := job("j", 2, 2)
	j.Precedence = 5
	r.submit(t, epoch, j)
	r.settle(t, epoch)
	r.settle(t, at(1))
	require.Len(t, r.held["j"], 2, "each attempt may cost one loss")
	var placed []int
	for _, e := range r.events {
		if e.Kind == loop.Placed {
			placed = append(placed, len(e.Allocations))
		}
	}
	require.Equal(t, []int{1, 1}, placed)
}
