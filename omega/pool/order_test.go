package pool_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
)

// acquireIn starts an Acquire with a context, in a bubble.
func acquireIn(ctx context.Context, n *pool.Tenant, need ...int64) <-chan pool.Lease {
	got := make(chan pool.Lease, 1)
	go func() {
		if l, err := n.Acquire(ctx, v(need...)); err == nil {
			got <- l
		}
	}()
	synctest.Wait()
	return got
}

func TestCancel_ServesTheRequestsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(4))
		held := acquire(t, p, "x", 2)
		n := tenant(t, p, "a", pool.Settings{Strict: true})
		ctx, cancel := context.WithCancel(t.Context())
		acquireIn(ctx, n, 4)
		small := acquireIn(t.Context(), n, 1)
		require.Equal(t, pool.Lease{}, arrived(small))
		cancel()
		release(t, arrived(small), held)
	})
}

func TestSet_ServesTheRequestsThatAreFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(4))
		n := tenant(t, p, "a", pool.Settings{Limit: v(2, 2), Limited: true})
		first, second := arrived(acquireIn(t.Context(), n, 2)), acquireIn(t.Context(), n, 2)
		require.Equal(t, pool.Lease{}, arrived(second))
		require.Equal(t, `"a" is at its limit cpu=2m,memory=2`, p.Waiters()[0].Reason)
		require.NoError(t, n.Set(pool.Settings{Limit: v(4, 4), Limited: true}))
		release(t, first, arrived(second))

		first = arrived(acquireIn(t.Context(), n, 4))
		second = acquireIn(t.Context(), n, 4)
		release(t, first)
		first = arrived(second)
		require.NotEqual(t, pool.Lease{}, first)
		third := acquireIn(t.Context(), n, 1)
		require.Equal(t, pool.Lease{}, arrived(third))
		release(t, first)
		release(t, arrived(third))
	})
}

func TestTryAcquire_KeepsTheLimitOfAGroup(t *testing.T) {
	p := newPool(t, oneMachine(4))
	org := tenant(t, p, "org", pool.Settings{Limit: v(2, 2), Limited: true})
	a, err := org.Tenant("a")
	require.NoError(t, err)
	team, err := org.Tenant("team")
	require.NoError(t, err)
	b, err := team.Tenant("b")
	require.NoError(t, err)
	l, ok := a.TryAcquire(v(2))
	require.True(t, ok)
	_, ok = b.TryAcquire(v(1))
	require.False(t, ok)
	release(t, l)
	l, ok = b.TryAcquire(v(1))
	require.True(t, ok)
	release(t, l)
}

// The first request of a strict tenant would fit in what is free of each kind, but
// on no machine: the second one waits all the same.
func TestStrict_KeepsTheOrderWhereRoomIsScattered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4, 4)})
		held := []pool.Lease{acquire(t, p, "x", 4), acquire(t, p, "x", 4)}
		more := acquire(t, p, "x", 0, 4)
		n := tenant(t, p, "a", pool.Settings{Strict: true})
		first, second := acquireIn(t.Context(), n, 2, 2), acquireIn(t.Context(), n, 1)
		kept := held[0]
		if kept.Machine() == more.Machine() {
			kept, held = held[1], held[:1]
		} else {
			held = held[1:]
		}
		release(t, held...) // CPU here, memory there
		require.Equal(t, pool.Lease{}, arrived(first))
		require.Equal(t, pool.Lease{}, arrived(second), "it would pass the first one")
		release(t, kept)
		release(t, arrived(first), arrived(second), more)
	})
}

// A machine is reserved for a large request behind a lease of ten seconds. Tasks
// that are known to take longer than that do not go on there meanwhile.
func TestReservation_LongTasksDoNotDelayIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(4))
		short := &load{tenant: tenant(t, p, "short"), need: v(1), length: 10 * time.Second, workers: 5}
		long := &load{tenant: tenant(t, p, "long"), need: v(1), length: 100 * time.Second, workers: 5}
		run(t, 3000*time.Second, short, long) // the pool learns their lengths
		held, brief := acquire(t, p, "short", 1), acquire(t, p, "short", 1)
		start := time.Now()
		large := acquireIn(t.Context(), tenant(t, p, "large"), 4)
		time.Sleep(2 * time.Second) // longer than the patience
		release(t, brief)
		late := acquireIn(t.Context(), long.tenant, 1)
		soon := acquireIn(t.Context(), short.tenant, 1)
		require.Equal(t, pool.Lease{}, arrived(late), "it would end after the lease that is waited for")
		time.Sleep(10*time.Second - time.Since(start))
		release(t, held)
		if l := arrived(soon); l != (pool.Lease{}) {
			time.Sleep(10 * time.Second)
			release(t, l)
		}
		l := arrived(large)
		require.Equal(t, v(4), l.Need())
		require.LessOrEqual(t, time.Since(start), 21*time.Second)
		release(t, l)
		release(t, arrived(late))
	})
}

// Tasks that are known to end before the lease that is waited for go on at once.
func TestReservation_ShortTasksGoOnMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(4))
		short := &load{tenant: tenant(t, p, "short"), need: v(1), length: 10 * time.Second, workers: 5}
		long := &load{tenant: tenant(t, p, "long"), need: v(1), length: 100 * time.Second, workers: 5}
		run(t, 3000*time.Second, short, long) // the pool learns their lengths
		held, brief := acquire(t, p, "long", 1), acquire(t, p, "short", 1)
		large := acquireIn(t.Context(), tenant(t, p, "large"), 4)
		time.Sleep(2 * time.Second)
		release(t, brief) // it is reserved now
		soon := arrived(acquireIn(t.Context(), short.tenant, 1))
		require.NotEqual(t, pool.Lease{}, soon)
		release(t, soon, held)
		release(t, arrived(large))
	})
}
