package pool_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
)

func TestRelease_CountsOnce(t *testing.T) {
	p := newPool(t, pool.Config{Machines: machines(4)})
	for range 1000 {
		l := acquire(t, p, "a", 4)
		var wg sync.WaitGroup
		errs := make([]error, 2)
		for i := range errs {
			wg.Go(func() { errs[i] = l.Release() })
		}
		wg.Wait()
		require.NotEqual(t, errs[0] == nil, errs[1] == nil)
		require.ErrorIs(t, errors.Join(errs...), pool.ErrReleased)
		require.Equal(t, v(4, 4), p.Stats().Free)
	}
}

func TestOnLeak_ReportsAndDoesNotReturn(t *testing.T) {
	leaks := make(chan pool.Lease, 1)
	p := newPool(t, pool.Config{Machines: machines(4), OnLeak: func(l pool.Lease) { leaks <- l }})
	kept := acquire(t, p, "a", 1)
	func() { _ = acquire(t, p, "careless", 2) }()
	var lost pool.Lease
	for lost == (pool.Lease{}) {
		runtime.GC()
		select {
		case lost = <-leaks:
		default:
			runtime.Gosched()
		}
	}
	require.Equal(t, "careless", lost.Tenant().Name())
	require.Equal(t, v(2), lost.Need())
	require.Equal(t, v(1, 4), p.Stats().Free, "still taken")
	release(t, lost)
	require.ErrorIs(t, lost.Release(), pool.ErrReleased)
	require.Equal(t, v(3, 4), p.Stats().Free)
	release(t, kept)
	runtime.GC()
	require.Empty(t, leaks, "a lease that was released is no leak")
}

// The worker releases the lease of a task: nothing has leaked then.
func TestOnLeak_TellsNothingOfTasks(t *testing.T) {
	leaks := make(chan pool.Lease, 100)
	p := newPool(t, pool.Config{Machines: machines(4), OnLeak: func(l pool.Lease) { leaks <- l }})
	g, _ := tenant(t, p, "a").Group(t.Context())
	for range 50 {
		require.NoError(t, g.Go(v(1), func(context.Context, pool.Lease) error { return nil }))
	}
	require.NoError(t, g.Wait())
	done := make(chan struct{})
	runtime.AddCleanup(new([16]byte), func(int) { close(done) }, 0)
	for waiting := true; waiting; {
		runtime.GC()
		select {
		case <-done:
			waiting = false
		default:
			runtime.Gosched()
		}
	}
	require.Empty(t, leaks)
}

type colour struct{}

// The context of a task has the values of the one that it was given, before its end
// and after.
func TestLease_ContextKeepsItsValues(t *testing.T) {
	p := newPool(t, oneMachine(1))
	parent := context.WithValue(t.Context(), colour{}, "blue")
	ended := make(chan context.Context, 1)
	err := tenant(t, p, "a").Do(parent, v(1), func(ctx context.Context, _ pool.Lease) error {
		require.Equal(t, "blue", ctx.Value(colour{}))
		require.NoError(t, ctx.Err())
		ended <- ctx
		return nil
	})
	require.NoError(t, err)
	kept := <-ended
	require.ErrorIs(t, kept.Err(), context.Canceled)
	require.ErrorIs(t, context.Cause(kept), pool.ErrReleased)
	require.Equal(t, "blue", kept.Value(colour{}))
	<-kept.Done()
}

// A strict tenant's next request is known to the order as soon as it is first.
func TestRequest_AStrictTenantIsServedInRoomForItsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(4))
		n, held := tenant(t, p, "strict", pool.Settings{Strict: true}), acquire(t, p, "other", 4)
		leases := make(chan pool.Lease, 4)
		for _, need := range []int64{4, 1, 1, 1} {
			go func() {
				if l, err := n.Acquire(t.Context(), v(need)); err == nil {
					leases <- l
				}
			}()
			synctest.Wait()
		}
		release(t, held)
		large := <-leases
		require.NoError(t, large.Resize(v(3)))
		synctest.Wait()
		require.Len(t, leases, 1)
		release(t, large, <-leases)
		synctest.Wait()
		require.Len(t, leases, 2)
	})
}

// The handle that a lease gives is one as any other: its tenant is not forgotten.
func TestLease_ItsTenantIsNotForgotten(t *testing.T) {
	p := newPool(t, oneMachine(2))
	l := acquire(t, p, "one", 1)
	n := l.Tenant()
	release(t, l)
	require.Nil(t, l.Tenant())
	for i := range 3000 { // names that are used once are forgotten
		release(t, acquire(t, p, fmt.Sprint("other-", i), 1))
	}
	held, err := n.Acquire(t.Context(), v(1))
	require.NoError(t, err)
	again, err := p.Tenant("one")
	require.NoError(t, err)
	require.Same(t, n, again)
	release(t, held)
}
