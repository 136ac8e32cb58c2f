package pool_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// Two tenants of a group with a rate wait for room. The one that is served takes
// the token; time brings the next one to the other.
func TestRate_OfAGroupWakesTheOtherTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(1))
		group := tenant(t, p, "group", pool.Settings{Rate: 1})
		held := acquire(t, p, "other", 1)
		got := make(chan time.Duration, 2)
		start := time.Now()
		for _, name := range []string{"a", "b"} {
			n, err := group.Tenant(name)
			require.NoError(t, err)
			go func() {
				l, err := n.Acquire(context.Background(), v(1))
				if err != nil {
					t.Error(err)
				}
				got <- time.Since(start)
				_ = l.Release()
			}()
		}
		synctest.Wait()
		release(t, held)
		require.Zero(t, <-got)
		synctest.Wait()
		time.Sleep(time.Hour)
		require.Len(t, got, 1, "a token came after a second, and woke no tenant")
		require.InDelta(t, 1, (<-got).Seconds(), 1e-6)
	})
}

// A pool that drains ends when its last request gives up, not only when its last
// lease is released.
func TestShutdown_EndsWithTheLastRequest(t *testing.T) {
	throttled := func(t *testing.T) (*pool.Pool, *pool.Tenant) {
		t.Helper()
		p := newPool(t, oneMachine(1))
		n := tenant(t, p, "slow", pool.Settings{Rate: 1e-6})
		l, ok := n.TryAcquire(v(1))
		require.True(t, ok)
		release(t, l)
		return p, n
	}
	shutdown := func(t *testing.T, p *pool.Pool, after time.Duration) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		start := time.Now()
		err := p.Shutdown(ctx)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, after, time.Since(start))
	}
	t.Run("a wait that is cancelled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p, n := throttled(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			go func() { _, _ = n.Acquire(ctx, v(1)) }()
			synctest.Wait()
			shutdown(t, p, time.Second)
		})
	})
	t.Run("a wait that is over", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p, n := throttled(t)
			go func() {
				_, _ = n.Request(t.Context(), pool.Request{Needs: []resources.Vector{v(1)}, MaxWait: time.Second})
			}()
			synctest.Wait()
			shutdown(t, p, time.Second)
		})
	})
	t.Run("a need that became impossible", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p, n := throttled(t)
			require.NoError(t, n.Go(t.Context(), v(1), func(context.Context, pool.Lease) error { return nil }))
			go func() {
				time.Sleep(time.Second)
				_ = p.ResizeMachine("m0", v())
			}()
			shutdown(t, p, time.Second)
		})
	})
}

// A tenant that cannot be made leaves no trace in its group.
func TestTenant_BadSettingsMakeNoGroup(t *testing.T) {
	p := newPool(t, oneMachine(1))
	n := tenant(t, p, "plain")
	_, err := n.Tenant("child", pool.Settings{Weight: -1})
	require.EqualError(t, err, `pool: settings of "plain/child": weight -1, want 1e-06 to 1e+06: invalid configuration`)
	l, err := n.Acquire(t.Context(), v(1))
	require.NoError(t, err)
	release(t, l)
}

// The room of a task is free before its group's Wait returns.
func TestGroup_WaitReturnsAfterTheRoomIsFree(t *testing.T) {
	p := newPool(t, oneMachine(1))
	n := tenant(t, p, "a")
	for range 200 {
		g, _ := n.Group(t.Context())
		require.NoError(t, g.Go(v(1), func(context.Context, pool.Lease) error { return nil }))
		require.NoError(t, g.Wait())
		require.Equal(t, v(1, 1), p.Stats().Free)
	}
	require.NoError(t, p.Close(t.Context()))
}

// Tasks of a group that has failed are dropped at once, also while other tenants hold the room.
func TestGroup_AFailureEndsTasksThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(2))
		held := acquire(t, p, "long", 1)
		n := tenant(t, p, "a")
		boom := errors.New("boom")
		g, _ := n.Group(t.Context())
		require.NoError(t, g.Go(v(2), func(context.Context, pool.Lease) error { t.Error("it ran"); return nil }))
		require.NoError(t, g.Go(v(1), func(context.Context, pool.Lease) error { return boom }))
		start := time.Now()
		require.Equal(t, boom, g.Wait())
		require.Zero(t, time.Since(start))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		g, _ = n.Group(ctx)
		require.NoError(t, g.Go(v(2), func(context.Context, pool.Lease) error { t.Error("it ran"); return nil }))
		require.ErrorIs(t, g.Wait(), context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
		require.Zero(t, p.Stats().Waiting)
		release(t, held)
		require.NoError(t, p.Close(t.Context()))
	})
}

// A task that waits for longer than its tenant allows is dropped then, not when
// room is found for it.
func TestGo_MaxWaitEndsOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := make(chan time.Duration, 3)
		start := time.Now()
		p := newPool(t, pool.Config{Machines: machines(1), OnError: func(_ *pool.Tenant, err error) {
			if !errors.Is(err, pool.ErrWait) {
				t.Error(err)
			}
			failed <- time.Since(start)
		}})
		n := tenant(t, p, "a", pool.Settings{MaxWait: time.Second, Queue: 2})
		held := acquire(t, p, "long", 1)
		never := func(context.Context, pool.Lease) error { t.Error("it ran"); return nil }
		require.NoError(t, n.Go(t.Context(), v(1), never))
		time.Sleep(500 * time.Millisecond)
		require.NoError(t, n.Go(t.Context(), v(1), never))
		require.Equal(t, time.Second, <-failed)
		require.Equal(t, 1500*time.Millisecond, <-failed)
		require.NoError(t, n.Go(t.Context(), v(1), never), "the queue has room again")
		require.Equal(t, 2500*time.Millisecond, <-failed)
		release(t, held)
		require.ErrorIs(t, p.Shutdown(t.Context()), pool.ErrWait)
	})
}

// A task that ends its goroutine, as t.FailNow does, gives its room back.
func TestGo_ATaskThatExitsItsGoroutineIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(1))
		n := tenant(t, p, "a")
		g, _ := n.Group(t.Context())
		ran := false
		require.NoError(t, g.Go(v(1), func(context.Context, pool.Lease) error { runtime.Goexit(); return nil }))
		require.NoError(t, n.Go(t.Context(), v(1), func(context.Context, pool.Lease) error { ran = true; return nil }))
		require.ErrorContains(t, g.Wait(), "runtime.Goexit")
		require.NoError(t, p.Shutdown(t.Context()))
		require.True(t, ran)
		require.Equal(t, v(1, 1), p.Stats().Free)
	})
}
