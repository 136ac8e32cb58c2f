package loop_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
)

// Room for one of several jobs that wait for it goes to the first in the order, not
// to the first that arrived.
func TestRecheck_RoomGoesToTheFirstInTheOrder(t *testing.T) {
	tests := map[string]struct {
		order loop.Order[string]
		want  []string
	}{
		"FIFO":       {order: loop.FIFO[string](), want: []string{"a", "b", "c", "d"}},
		"precedence": {order: loop.ByPrecedence[string](), want: []string{"c", "b", "d", "a"}},
		"deadline":   {order: loop.ByDeadline[string](), want: []string{"d", "c", "b", "a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cell := newCell(t, 1)
			var got []string
			r := newRig(t, cell, loop.Config[string]{Order: test.order, Observe: func(e loop.Event[string]) {
				if e.Kind == loop.Placed {
					got = append(got, e.Pending.Job().Key)
				}
			}, MinDelay: at(3600).Sub(epoch), MaxDelay: at(3600).Sub(epoch)})
			other := register(t, cell, "other")
			id := claim(t, other, "m0", cell, 1)
			for i, precedence := range []omega.Precedence{0, 5, 9, 5} {
				j := job(string(rune('a'+i)), 1, 1)
				j.Precedence, j.Deadline = precedence, at(float64(10_000-i))
				r.submit(t, epoch, j)
			}
			r.settle(t, epoch)
			require.Empty(t, got)
			require.NoError(t, other.Release(id))
			for n := range test.want {
				r.Recheck()
				r.settle(t, at(float64(n+1)))
				require.Equal(t, test.want[:n+1], got)
				require.Equal(t, len(test.want)-n-1, r.Stats().Waiting)
				require.NoError(t, r.sched.Release(r.held[got[n]][0]))
			}
			require.EqualValues(t, 2*len(test.want), r.Stats().Attempts, "a job that is passed over has no attempt")
		})
	}
}

// A job with an Allow that panics as room is looked for has another turn when its
// back-off ends.
func TestRecheck_AnAllowThatPanicsLosesNoJob(t *testing.T) {
	cell := newCell(t, 1)
	r := newRig(t, cell, loop.Config[string]{MinDelay: at(10).Sub(epoch), MaxDelay: at(10).Sub(epoch)})
	other := register(t, cell, "other")
	id := claim(t, other, "m0", cell, 1)
	broken := false
	j := job("j", 1, 1)
	j.Allow = func(locality.Node) bool {
		if broken {
			panic("allow")
		}
		return true
	}
	r.submit(t, epoch, j)
	r.settle(t, epoch)
	require.NoError(t, other.Release(id))
	broken = true
	r.Recheck()
	require.PanicsWithValue(t, "allow", func() { _, _, _ = r.Step(t.Context(), at(1)) })
	broken = false
	require.Equal(t, at(10), r.settle(t, at(2)))
	require.Zero(t, r.settle(t, at(10)))
	require.Len(t, r.held["j"], 1)
}

// A job that is in the order as its back-off ends is tried once, as any other.
func TestRecheck_TheEndOfABackOffMeetsTheJobInTheOrder(t *testing.T) {
	cell := newCell(t, 1)
	order := &closable{Order: loop.ByPrecedence[string]()}
	r := newRig(t, cell, loop.Config[string]{Order: order, MinDelay: at(10).Sub(epoch), MaxDelay: at(10).Sub(epoch)})
	other := register(t, cell, "other")
	id := claim(t, other, "m0", cell, 1)
	r.submit(t, epoch, job("j", 2, 1))
	r.settle(t, epoch)
	require.NoError(t, other.Release(id))
	order.closed = true
	r.Recheck()
	require.Equal(t, at(10), r.settle(t, at(1)))
	r.Recheck()
	require.Equal(t, at(10), r.settle(t, at(2)))
	require.Zero(t, r.settle(t, at(10)))
	require.Equal(t, 1, order.in, "pushes less what was taken out")
	order.closed = false
	require.Equal(t, at(30), r.settle(t, at(20)))
	require.Len(t, r.held["j"], 1)
}

// closable is an order that can be closed.
type closable struct {
	loop.Order[string]
	closed bool
	in     int
}

func (c *closable) Push(p *loop.Pending[string]) {
	c.in++
	c.Order.Push(p)
}

func (c *closable) Next() *loop.Pending[string] {
	if c.closed {
		return nil
	}
	p := c.Order.Next()
	if p != nil {
		c.in--
	}
	return p
}

// A job that gets a part of its tasks by a recheck has one back-off, which begins then.
func TestRecheck_ABackOffBeginsAnew(t *testing.T) {
	cell := newCell(t, 1)
	r := newRig(t, cell, loop.Config[string]{MinDelay: at(10).Sub(epoch), MaxDelay: at(10).Sub(epoch)})
	other := register(t, cell, "other")
	id := claim(t, other, "m0", cell, 1)
	r.submit(t, epoch, job("j", 2, 1))
	require.Equal(t, at(10), r.settle(t, epoch))
	require.NoError(t, other.Release(id))
	r.Recheck()
	require.Equal(t, at(13), r.settle(t, at(3)))
	require.Len(t, r.held["j"], 1)
}

// A job that no machine with room will do for does not stand for others of its need.
func TestRecheck_MachinesThatWillNotDoAreOfOneJob(t *testing.T) {
	cell := newCell(t, 1, 1)
	r := newRig(t, cell, loop.Config[string]{MinDelay: at(10).Sub(epoch), MaxDelay: at(10).Sub(epoch)})
	other := register(t, cell, "other")
	claim(t, other, "m0", cell, 1)
	id := claim(t, other, "m1", cell, 1)
	picky := job("picky", 1, 1)
	picky.Allow = func(n locality.Node) bool { return n == 0 }
	r.submit(t, epoch, picky)
	r.submit(t, epoch, job("any", 1, 1))
	r.settle(t, epoch)
	require.NoError(t, other.Release(id))
	r.Recheck()
	r.settle(t, at(1))
	require.Empty(t, r.held["picky"])
	require.Len(t, r.held["any"], 1)
}

// A store that fails as room is looked for leaves the jobs where they were: in the
// order.
func TestRecheck_AStoreThatFailsLosesNoTurn(t *testing.T) {
	for fails := 1; fails <= 3; fails++ { // the look, the refresh for the search, the one after it
		cell := newCell(t, 2)
		store := &failing{Store: omega.Local{Scheduler: register(t, cell, "s")}}
		r := newRig(t, cell, loop.Config[string]{Store: store, MinDelay: at(10).Sub(epoch), MaxDelay: at(10).Sub(epoch)})
		other := register(t, cell, "other")
		id := claim(t, other, "m0", cell, 2)
		gang := job("gang", 2, 1)
		gang.Gang = true
		r.submit(t, epoch, gang)
		r.settle(t, epoch)
		require.NoError(t, other.Release(id))
		r.Recheck()
		store.in = fails
		_, _, err := r.Step(t.Context(), at(1))
		require.ErrorIs(t, err, errStop)
		require.Zero(t, r.settle(t, at(1)))
		require.Len(t, r.held["gang"], 2)
	}
}

// failing is a store of which one refresh fails.
type failing struct {
	omega.Store
	in int
}

func (f *failing) Refresh(ctx context.Context, now time.Time, visit func(omega.MachineState)) (*omega.Snapshot, error) {
	if f.in--; f.in == 0 {
		return nil, errStop
	}
	return f.Store.Refresh(ctx, now, visit)
}
