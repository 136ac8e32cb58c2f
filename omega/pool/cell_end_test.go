package pool_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
)

func TestCell_EndsThePoolOfAReplacedScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, err := omega.NewCell(omega.Config{Machines: machines(4)})
		require.NoError(t, err)
		own, err := cell.Register("service", omega.Limits{Divisible: true})
		require.NoError(t, err)
		p, err := pool.New(pool.Config{Cell: cell, Scheduler: own, Chunk: 1})
		require.NoError(t, err)
		lease := acquire(t, p, "a", 3)
		got := queue(t, p, "b", v(3))
		synctest.Wait()

		next, err := cell.Replace("service")
		require.NoError(t, err)
		_, open := <-got
		require.False(t, open)
		require.ErrorIs(t, context.Cause(lease.Context()), pool.ErrClosed)
		_, err = p.Acquire(t.Context(), "a", v(1))
		require.ErrorIs(t, err, pool.ErrClosed)
		require.Equal(t, v(3), next.Usage(), "the successor has what was held")

		// Its pool takes it over, and returns it as nothing uses it.
		after, err := pool.New(pool.Config{Cell: cell, Scheduler: next})
		require.NoError(t, err)
		release(t, acquire(t, after, "a", 4))
		release(t, lease)
		require.NoError(t, p.Close(t.Context()))
		require.NoError(t, after.Close(t.Context()))
		require.Zero(t, next.Usage())
		require.NoError(t, cell.Check())
	})
}

// The pool ends also while no request waits, so that it neither waits in the cell nor commits.
func TestCell_EndsAnIdlePoolOfAReplacedScheduler(t *testing.T) {
	for _, chunk := range []int{1, 16} {
		synctest.Test(t, func(t *testing.T) {
			cell, err := omega.NewCell(omega.Config{Machines: machines(4)})
			require.NoError(t, err)
			own, err := cell.Register("service", omega.Limits{Divisible: true})
			require.NoError(t, err)
			p, err := pool.New(pool.Config{Cell: cell, Scheduler: own, Chunk: chunk})
			require.NoError(t, err)
			lease := acquire(t, p, "a", 1)
			synctest.Wait()

			_, err = cell.Replace("service")
			require.NoError(t, err)
			synctest.Wait()
			require.ErrorIs(t, context.Cause(lease.Context()), pool.ErrClosed)
			_, err = p.Acquire(t.Context(), "a", v(1))
			require.ErrorIs(t, err, pool.ErrClosed)
			release(t, lease)
			require.NoError(t, p.Close(t.Context()))
		})
	}
}
