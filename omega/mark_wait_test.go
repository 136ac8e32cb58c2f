package omega_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// waitMark calls WaitMark and returns once that has returned or all goroutines are
// asleep.
func waitMark(ctx context.Context, s *omega.Scheduler) *waiting {
	w := &waiting{s: s}
	go func() {
		w.err = s.WaitMark(ctx)
		w.over = true
	}()
	synctest.Wait()
	return w
}

// preempted is a cell of one machine, which low has filled with allocations of one
// unit, and the schedulers that preempt them.
type preempted struct {
	cell *omega.Cell
	m    omega.MachineID
	low  *omega.Scheduler
	high *omega.Scheduler
	live []omega.AllocationID
}

func newPreempted(t *testing.T, units int64) preempted {
	t.Helper()
	cell, ids := newCell(t, 1, resources.Vector{units})
	p := preempted{cell: cell, m: ids[0], low: ranked(t, cell, "low"), high: ranked(t, cell, "high")}
	for range units {
		p.live = append(p.live, held(t, p.low, p.m, 0, resources.Vector{1})...)
	}
	return p
}

// preempt takes one allocation from low.
func (p *preempted) preempt(t *testing.T, n int) {
	t.Helper()
	require.NoError(t, displace(p.high, p.m, p.live[n]))
}

// ids returns what the marks of low are of.
func (p *preempted) ids() (ids []omega.AllocationID) {
	for m := range p.low.Marked() {
		ids = append(ids, m.Allocation.ID)
	}
	return ids
}

func TestWaitMark_ReturnsOnceForEachMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPreempted(t, 3)
		w := waitMark(t.Context(), p.low)
		other := waitMark(t.Context(), p.high)
		asleep(t, "nothing has happened", w)
		require.NoError(t, p.low.Release(p.live[2]))
		asleep(t, "its own doing", w)
		p.preempt(t, 0)
		awake(t, "an allocation was preempted", w)
		require.Equal(t, p.live[:1], p.ids())
		w = waitMark(t.Context(), p.low)
		asleep(t, "the mark stands, and is known", w)
		p.preempt(t, 1)
		awake(t, "another one", w)
		require.Equal(t, p.live[:2], p.ids())
		require.NoError(t, p.low.Release(p.live[0]))
		require.NoError(t, p.low.Release(p.live[1]))
		require.Empty(t, p.ids())
		w = waitMark(t.Context(), p.low)
		asleep(t, "all are acknowledged", w)
		p.live = held(t, p.low, p.m, 0, resources.Vector{1})
		p.preempt(t, 0)
		awake(t, "after all were acknowledged", w)
		asleep(t, "it was the other that preempted", other)
	})
}

// Marks that come while no goroutine waits, before the first call and between two, end
// the next call; those that were released by then do not.
func TestWaitMark_MissesNoneThatCameBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPreempted(t, 4)
		p.preempt(t, 0)
		p.preempt(t, 1)
		require.NoError(t, p.low.WaitMark(t.Context()))
		require.Equal(t, p.live[:2], p.ids())
		asleep(t, "one call for several", waitMark(t.Context(), p.low))
		p.preempt(t, 2)
		require.NoError(t, p.low.Release(p.live[2]))

		successor, err := p.cell.Replace("low")
		require.NoError(t, err)
		p.low = successor
		require.NoError(t, p.low.WaitMark(t.Context()), "it inherits marks that it has not seen")
		w := waitMark(t.Context(), p.low)
		asleep(t, "that is all", w)
		for i := range 2 {
			require.NoError(t, p.low.Release(p.live[i]))
		}
		require.Empty(t, p.ids(), "the list is pruned")
		p.preempt(t, 3)
		awake(t, "it is counted after the pruned ones", w)
	})
}

// A list still counts its newest mark after that is released.
func TestWaitMark_CountsOnAfterTheNewestIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPreempted(t, 4)
		for n := range 2 {
			p.preempt(t, n)
		}
		require.NoError(t, p.low.WaitMark(t.Context()))
		require.NoError(t, p.low.Release(p.live[1]))
		require.Equal(t, p.live[:1], p.ids(), "the list is pruned")
		w := waitMark(t.Context(), p.low)
		for n := 2; n < 4; n++ {
			p.preempt(t, n)
			awake(t, "a mark with a number of its own", w)
			w = waitMark(t.Context(), p.low)
			asleep(t, "no other", w)
		}
	})
}

// A mark that is released before a call has nothing to tell.
func TestWaitMark_DoesNotTellOfWhatIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPreempted(t, 2)
		p.preempt(t, 0)
		require.NoError(t, p.low.Release(p.live[0]))
		w := waitMark(t.Context(), p.low)
		asleep(t, "it is acknowledged", w)
		p.low.Snapshot().Refresh(time.Time{})
		room := wait(t.Context(), p.low, 2)
		asleep(t, "nor is it news to a Wait", room)
		p.preempt(t, 1)
		awake(t, "this one is not", w)
		awake(t, "this one is not", room)
	})
}

func TestWaitMark_TellsOfLostMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPreempted(t, 2)
		w := waitMark(t.Context(), p.low)
		_, err := p.cell.Remove(p.m)
		require.NoError(t, err)
		awake(t, "its machine is gone", w)
		require.Equal(t, p.live, p.ids())
		for m := range p.low.Marked() {
			require.Equal(t, omega.Lost, m.Fate)
		}
	})
}

// Each mark ends one of several calls at least, and each scheduler is told of its own.
func TestWaitMark_WakesOneOfSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPreempted(t, 2)
		ws := []*waiting{waitMark(t.Context(), p.low), waitMark(t.Context(), p.low)}
		p.preempt(t, 0)
		synctest.Wait()
		i := slices.IndexFunc(ws, func(w *waiting) bool { return w.over })
		require.GreaterOrEqual(t, i, 0)
		require.NoError(t, ws[i].err)
		asleep(t, "one was told", ws[1-i])
		p.preempt(t, 1)
		awake(t, "the other is told of the second", ws[1-i])
	})
}

func TestWaitMark_EndsWithContextAndScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPreempted(t, 2)
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		w := waitMark(ctx, p.low)
		cancel(cause)
		synctest.Wait()
		require.ErrorIs(t, w.err, cause)
		p.preempt(t, 0)
		require.ErrorIs(t, p.low.WaitMark(ctx), cause, "even where there is a mark")
		require.NoError(t, p.low.WaitMark(t.Context()), "which is told of later")

		w = waitMark(t.Context(), p.low)
		successor, err := p.cell.Replace("low")
		require.NoError(t, err)
		synctest.Wait()
		require.ErrorIs(t, w.err, omega.ErrSuperseded)
		require.ErrorIs(t, p.low.WaitMark(t.Context()), omega.ErrSuperseded)

		require.NoError(t, successor.WaitMark(t.Context()))
		for _, a := range p.live {
			require.NoError(t, successor.Release(a))
		}
		w = waitMark(t.Context(), successor)
		room := wait(t.Context(), successor, 2)
		awake(t, "the room that was released", room)
		require.NoError(t, room.err)
		room = wait(t.Context(), successor, 2)
		asleep(t, "both wait", w, room)
		require.NoError(t, successor.Leave())
		synctest.Wait()
		require.ErrorIs(t, w.err, omega.ErrLeft)
		require.ErrorIs(t, room.err, omega.ErrLeft)
		require.ErrorIs(t, successor.WaitMark(t.Context()), omega.ErrLeft)
	})
}

// A scheduler that waits for room is told of marks as well, once for each, with or
// without a goroutine in WaitMark beside.
func TestWait_EndsForMarksToo(t *testing.T) {
	for name, beside := range map[string]bool{"alone": false, "beside a WaitMark": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPreempted(t, 3)
				p.low.Snapshot().Refresh(time.Time{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var runner *waiting
				if beside {
					runner = waitMark(ctx, p.low)
				}
				w := wait(t.Context(), p.low, 3)
				asleep(t, "full", w)
				p.preempt(t, 0)
				awake(t, "a mark", w)
				if beside {
					awake(t, "it is told, too", runner)
				}
				gang := waitAll(t.Context(), p.low, tasks(3, 1)...)
				asleep(t, "the mark is known", gang)
				_, err := p.cell.Add(omega.Machine{Name: "two", Capacity: resources.Vector{2}})
				require.NoError(t, err)
				// One unit is free where the mark was made.
				awake(t, "room for three", gang)
				// Both marks stand before the Wait begins: it may wake between two.
				p.preempt(t, 1)
				p.preempt(t, 2)
				w = wait(t.Context(), p.low, 3)
				awake(t, "two marks, one Wait", w)
				require.Equal(t, p.live, p.ids())
				p.low.Snapshot().Refresh(time.Time{})
				w = wait(t.Context(), p.low, 3)
				asleep(t, "no news", w)
			})
		})
	}
}

// A mark that wakes a scheduler takes no room from the others.
func TestWait_AMarkTakesNoBaton(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPreempted(t, 3)
		w := wait(t.Context(), p.low, 2)
		other := wait(t.Context(), register(t, p.cell, "other"), 1)
		third := wait(t.Context(), register(t, p.cell, "third"), 1)
		p.preempt(t, 0) // and releases what it got
		awake(t, "of its mark", w)
		awake(t, "the room that is left", other)
		other.s.Pass()
		awake(t, "the token goes on", third)
	})
}
