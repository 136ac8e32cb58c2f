package pool_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"

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
