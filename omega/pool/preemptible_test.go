package pool_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
)

// submit queues a task that runs until the test ends, and returns whether it runs.
// To be called in a synctest bubble.
func submit(t *testing.T, n *pool.Tenant, need ...int64) (runs func() bool) {
	t.Helper()
	started, end := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(end) })
	require.NoError(t, n.Go(t.Context(), v(need...), func(context.Context, pool.Lease) error {
		close(started)
		<-end
		return nil
	}))
	return func() bool {
		synctest.Wait()
		select {
		case <-started:
			return true
		default:
			return false
		}
	}
}

// A request that preemption cannot serve hides no later one that it can.
func TestGuarantee_ASmallRequestBehindAHopelessOneIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(6), Patience: -1})
		high := tenant(t, p, "high", pool.Settings{Priority: 1})
		safe, ok := high.TryAcquire(v(3))
		require.True(t, ok)
		victim := acquire(t, p, "low", 1)
		rest, ok := high.TryAcquire(v(2))
		require.True(t, ok)
		a := tenant(t, p, "a", pool.Settings{Guarantee: v(6)})
		large := submit(t, a, 5)
		other, ok := high.TryAcquire(v(1))
		require.False(t, ok)
		require.Zero(t, other)
		require.NoError(t, victim.Context().Err(), "five units cannot be preempted")
		require.NoError(t, rest.Resize(v(1))) // a unit is free, which is too little
		release(t, acquire(t, p, "other", 1))
		require.NoError(t, victim.Context().Err())
		small := submit(t, a, 2)
		require.ErrorIs(t, context.Cause(victim.Context()), pool.ErrPreempted)
		release(t, victim)
		require.True(t, small())
		require.False(t, large())
		require.NoError(t, safe.Context().Err())
	})
}

// A release that is too little alone lets a guarantee preempt the rest. So it is also for
// the tenant with the least need in a group.
func TestGuarantee_AReleaseAndAPreemptionServeTogether(t *testing.T) {
	for range 8 { // the tenants of a group have no order
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, pool.Config{Machines: machines(7), Patience: -1})
			high := tenant(t, p, "high", pool.Settings{Priority: 1})
			unit, ok := high.TryAcquire(v(1))
			require.True(t, ok)
			_, ok = high.TryAcquire(v(5))
			require.True(t, ok)
			victim := acquire(t, p, "low", 1)
			org := tenant(t, p, "org", pool.Settings{Guarantee: v(7)})
			x, err := org.Tenant("x")
			require.NoError(t, err)
			y, err := org.Tenant("y")
			require.NoError(t, err)
			large, small := submit(t, x, 5), submit(t, y, 2)
			require.NoError(t, unit.Resize(v(1)))
			require.NoError(t, victim.Context().Err())
			release(t, unit)
			require.ErrorIs(t, context.Cause(victim.Context()), pool.ErrPreempted)
			release(t, victim)
			require.True(t, small())
			require.False(t, large())
		})
	}
}

// A machine that shrank, and holds more than preemption can make up for, is not
// taken for the one where the least has to be preempted.
func TestGuarantee_IsTakenBackWherePreemptionSuffices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(8, 2), Patience: -1})
		high := tenant(t, p, "high", pool.Settings{Priority: 1})
		_, ok := high.TryAcquire(v(6))
		require.True(t, ok)
		spared, victim := acquire(t, p, "low", 2), acquire(t, p, "low", 2)
		require.Equal(t, "m1", victim.Machine())
		require.NoError(t, p.ResizeMachine("m0", v(3))) // it holds 5 too many
		waits := submit(t, tenant(t, p, "a", pool.Settings{Guarantee: v(3)}), 1)
		require.NoError(t, spared.Context().Err(), "without it 3 are too many still")
		require.ErrorIs(t, context.Cause(victim.Context()), pool.ErrPreempted)
		release(t, victim)
		require.True(t, waits())
	})
}
