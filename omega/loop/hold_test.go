package loop_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// hours is an order of a program's own: by arrival, from an hour of the day on.
type hours struct {
	loop.Order[string]

	from int
	now  time.Time
	len  int
	wake func()
}

// Advance is for [loop.Order].
func (h *hours) Advance(now time.Time) { h.now = now }

// Push counts the jobs.
func (h *hours) Push(p *loop.Pending[string]) {
	h.len++
	h.Order.Push(p)
}

// Next returns no job before the hour.
func (h *hours) Next() *loop.Pending[string] {
	if h.len == 0 || h.now.Hour() < h.from {
		return nil
	}
	h.len--
	return h.Order.Next()
}

// Held is for [loop.Order].
func (h *hours) Held(now time.Time, wake func()) (until time.Time, held bool) {
	h.wake = wake
	day := time.Date(now.Year(), now.Month(), now.Day(), h.from, 0, 0, 0, now.Location())
	return day, h.len > 0
}

// Jobs are held back to their instant, in virtual time; a job of the order that has
// gone holds nothing.
func TestOrder_TheStepIsDueWhenTheHoldEnds(t *testing.T) {
	r := newRig(t, newCell(t, 8), loop.Config[string]{Order: &hours{Order: loop.FIFO[string](), from: 6}, Recheck: 24 * time.Hour})
	require.Zero(t, r.settle(t, epoch))
	r.submit(t, epoch, job("j", 1, 1))
	next := r.settle(t, epoch)
	require.Equal(t, epoch.Add(6*time.Hour), next)
	require.Zero(t, r.settle(t, next))
	require.Equal(t, []string{"j submitted", "j placed 1", "j complete"}, r.log())
}

// A held job ends as any other, and leaves the loop in order.
func TestOrder_HeldJobsExpireAndAreCancelled(t *testing.T) {
	r := newRig(t, newCell(t, 8), loop.Config[string]{Order: &hours{Order: loop.FIFO[string](), from: 6}})
	expires := job("expires", 1, 1)
	expires.Deadline = at(0.5)
	r.submit(t, epoch, expires)
	cancelled := r.submit(t, epoch, job("cancelled", 1, 1))
	require.Equal(t, at(0.5), r.settle(t, epoch))
	r.Cancel(cancelled)
	r.settle(t, at(0.5))
	require.Equal(t, []string{"expires submitted", "cancelled submitted", "cancelled cancelled", "expires expired"}, r.log())
}

// Wake, called from anywhere, makes Run ask the order at once.
func TestOrder_WakeMakesRunAskAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		order := &hours{Order: loop.FIFO[string](), from: 24}
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		var placed time.Duration
		r := newRig(t, newCell(t, 8), loop.Config[string]{Order: order, Recheck: 24 * time.Hour, Observe: func(e loop.Event[string]) {
			if e.Kind == loop.Placed {
				placed = e.At.Sub(start)
				cancel()
			}
		}})
		r.submit(t, start, job("j", 1, 1))
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		order.from = 0
		order.wake()
		require.ErrorIs(t, <-done, context.Canceled)
		require.Equal(t, time.Minute, placed)
	})
}

// rationing is an order of a program's own: the first turn is for one task.
type rationing struct {
	loop.Order[string]

	turns int
}

// Next rations the first turn.
func (r *rationing) Next() *loop.Pending[string] {
	p := r.Order.Next()
	if r.turns++; p != nil && r.turns == 1 {
		p.Ration(1)
	}
	return p
}

// A ration is for the turn for which the order has set it. A job that is placed comes
// back at once, and one that had a turn in vain is rationed no more.
func TestRation_IsForOneTurn(t *testing.T) {
	cell := newCell(t, 8)
	r := newRig(t, cell, loop.Config[string]{Order: &rationing{Order: loop.FIFO[string]()}, Attempts: 1})
	r.submit(t, epoch, job("j", 4, 1))
	require.Zero(t, r.settle(t, epoch))
	require.Equal(t, []string{"j submitted", "j placed 1", "j placed 3", "j complete"}, r.log())

	store := &faulty{Local: omega.Local{Scheduler: register(t, cell, "s")}, refresh: errStore}
	r = newRig(t, newCell(t, 8), loop.Config[string]{Order: &rationing{Order: loop.FIFO[string]()}, Store: store})
	r.submit(t, epoch, job("j", 4, 1))
	_, _, err := r.Step(t.Context(), epoch)
	require.ErrorIs(t, err, errStore)
	store.refresh = nil
	require.Zero(t, r.settle(t, epoch))
	require.Equal(t, []string{"j submitted", "j placed 4", "j complete"}, r.log())
}

// An order of the program's own holds jobs back until six o'clock.
func ExampleOrder() {
	_, s := exampleCell()
	l, err := loop.New(loop.Config[string]{
		Store: omega.Local{Scheduler: s},
		Order: &hours{Order: loop.FIFO[string](), from: 6},
		Observe: func(e loop.Event[string]) {
			fmt.Println(e.At.Format(time.TimeOnly), e.Kind)
		},
		Recheck: 24 * time.Hour,
	})
	if err != nil {
		panic(err)
	}
	_, _ = l.Submit(epoch, loop.Job[string]{Key: "report", Need: resources.Vector{1}, Tasks: 1})
	for now, more := epoch, true; more; {
		now, more, _ = l.Step(context.Background(), now)
	}
	// Output:
	// 00:00:00 submitted
	// 06:00:00 placed
	// 06:00:00 complete
}
