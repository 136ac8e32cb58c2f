package pool_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

func TestAcquire_RefusesBadInput(t *testing.T) {
	p := newPool(t, pool.Config{Machines: machines(4, 8)})
	tests := map[string]struct {
		need   resources.Vector
		prefer locality.Node
		err    error
		text   string
	}{
		"nothing":        {v(), 0, pool.ErrNeed, "nothing"},
		"negative":       {v(1, -2), 0, resources.ErrQuantity, "kind 1 is -2"},
		"overflowing":    {v(math.MaxInt64), 0, resources.ErrQuantity, "kind 0"},
		"too large":      {v(9), 0, pool.ErrNeed, "does not fit on any machine"},
		"unknown kind":   {v(0, 0, 1), 0, pool.ErrNeed, "does not fit on any machine"},
		"preferred node": {v(1), 2, pool.ErrNode, "node 2 of a pool of 2"},
		"a last node":    {v(1), math.MaxUint32, pool.ErrNode, "node 4294967295 of a pool of 2"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := p.Acquire(t.Context(), "a", test.need, test.prefer)
			require.ErrorIs(t, err, test.err)
			require.ErrorContains(t, err, test.text)
			_, err = p.TryAcquire("a", test.need, test.prefer)
			require.ErrorIs(t, err, test.err)
			_, err = p.AcquireAll(t.Context(), "a", []resources.Vector{v(1), test.need}, test.prefer)
			require.ErrorIs(t, err, test.err)
			require.Equal(t, v(12, 12), p.Stats().Free)
		})
	}
	_, err := p.AcquireAll(t.Context(), "a", nil)
	require.ErrorIs(t, err, pool.ErrNeed)
	_, err = p.AcquireAll(t.Context(), "a", []resources.Vector{v(5), v(5)})
	require.ErrorIs(t, err, pool.ErrNeed, "each fits, both do not")
}

func TestAcquire_CancelledLeavesNoTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4)})
		all := acquire(t, p, "a", 3)
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		failed := make(chan error)
		go func() {
			_, err := p.Acquire(ctx, "b", v(4))
			failed <- err
		}()
		synctest.Wait()
		// Behind it in the same queue, and small enough.
		next := queue(t, p, "b", v(1))
		require.Nil(t, arrived(next))
		cancel(enough)
		require.ErrorIs(t, <-failed, enough)
		release(t, arrived(next), all)
		require.Empty(t, p.Waiters())
		require.Equal(t, v(4, 4), p.Stats().Free)

		_, err := p.Acquire(ctx, "b", v(1))
		require.ErrorIs(t, err, enough, "even where there is room")
		require.Equal(t, v(4, 4), p.Stats().Free)

		timed, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		all = acquire(t, p, "a", 4)
		start := time.Now()
		_, err = p.Acquire(timed, "b", v(1))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
		release(t, all)
	})
}

// A machine that could never hold the need is not waited for.
func TestAcquire_DoesNotWaitForWhatCannotBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(1, 4), Delay: delay.Policy{Waits: delay.Waits{time.Hour}}})
		start := time.Now()
		l, err := p.Acquire(t.Context(), "a", v(4), 0)
		require.NoError(t, err)
		require.EqualValues(t, 1, l.Node())
		release(t, l)
		both, err := p.AcquireAll(t.Context(), "a", []resources.Vector{v(1), v(4)}, 0)
		require.NoError(t, err)
		release(t, both...)
		require.Zero(t, time.Since(start))
	})
}

func TestAcquire_WaitsForDataLevelByLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, near(t, time.Second))
		lease := func(prefer ...locality.Node) (*pool.Lease, time.Duration) {
			start := time.Now()
			l, err := p.Acquire(t.Context(), "a", v(1), prefer...)
			require.NoError(t, err)
			return l, time.Since(start)
		}
		l0, waited := lease(0)
		require.Zero(t, waited)
		require.EqualValues(t, 0, l0.Node())
		l1, waited := lease(0)
		require.Equal(t, time.Second, waited, "then a machine in the same rack will do")
		require.EqualValues(t, 1, l1.Node())
		require.EqualValues(t, 1, l1.Level())
		l2, waited := lease(0)
		require.Equal(t, 3*time.Second, waited, "then any")
		require.EqualValues(t, 2, l2.Level())
		l3, waited := lease()
		require.Zero(t, waited, "who has no preference waits for none")
		require.EqualValues(t, 0, l3.Level())
		release(t, l0, l1, l2, l3)
		require.Equal(t, []uint64{2, 1, 1}, p.Stats().Tenants[0].ByLevel)
	})
}

func TestAcquire_WaitingForDataGivesTheTurnAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, near(t, time.Hour))
		l0 := acquire(t, p, "a", 1)
		require.EqualValues(t, 0, l0.Node())
		far := queue(t, p, "b", v(1), 0)
		require.Nil(t, arrived(far))
		require.Equal(t, `there is room, but at level "rack" from what it prefers; "rack" will do in 1h0m0s`, p.Waiters()[0].Reason)

		// Another tenant, and another task of the same tenant whose data is
		// where the room is, go first.
		l1 := arrived(queue(t, p, "c", v(1)))
		l2 := arrived(queue(t, p, "b", v(1), 2))
		require.NotNil(t, l1)
		require.EqualValues(t, 2, l2.Node())

		release(t, l0)
		local := arrived(far)
		require.EqualValues(t, 0, local.Node())
		release(t, local, l1, l2)
	})
}
