package pool_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

func TestCell_PreemptsForAGuaranteeOnlyWhatTheCellLacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, pool.Config{Tenants: map[string]pool.Settings{"g": {Guarantee: v(4)}}}, 8)
		_, err := s.claim(0, 0, 3)
		require.NoError(t, err)
		b := []pool.Lease{acquire(t, s.pool, "b", 2), acquire(t, s.pool, "b", 1)}
		g := acquire(t, s.pool, "g", 2) // the cell has it
		synctest.Wait()
		require.NoError(t, b[0].Context().Err())
		require.NoError(t, b[1].Context().Err())

		got := queue(t, s.pool, "g", v(1))
		synctest.Wait()
		require.NoError(t, b[0].Context().Err())
		require.ErrorIs(t, context.Cause(b[1].Context()), pool.ErrPreempted, "the younger one is enough")
		release(t, b[1])
		release(t, <-got, b[0], g)
	})
}

func TestCell_ReservesForALargeRequestWithinThePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, pool.Config{Chunk: 1, Patience: time.Second}, 4)
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for ctx.Err() == nil {
					if l, err := s.pool.Acquire(ctx, fmt.Sprint("small-", i), v(1)); err == nil {
						time.Sleep(time.Duration(i+1) * 300 * time.Millisecond)
						_ = l.Release()
					}
				}
			})
		}
		time.Sleep(time.Second)
		start := time.Now()
		l, err := s.pool.Acquire(t.Context(), "large", v(4))
		require.NoError(t, err)
		require.Less(t, time.Since(start), 15*time.Second)
		stop()
		release(t, l)
		wg.Wait()
	})
}

func TestCell_AddsUpATenantOfSeveralPools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, pool.Config{Chunk: 1}, 8)
		second, err := s.cell.Register("second", omega.Limits{Divisible: true})
		require.NoError(t, err)
		p, err := pool.New(pool.Config{Cell: s.cell, Scheduler: second, Chunk: 1})
		require.NoError(t, err)
		leases := []pool.Lease{acquire(t, s.pool, "a", 2), acquire(t, p, "a", 3), acquire(t, p, "b", 1)}
		a, err := s.cell.Account(t.Context(), "a")
		require.NoError(t, err)
		used, err := s.cell.Usage(a)
		require.NoError(t, err)
		require.Equal(t, v(5), used)

		// A request of one pool has what the other releases.
		got := queue(t, p, "b", v(6))
		synctest.Wait()
		require.Empty(t, got)
		release(t, leases[1:]...)
		release(t, <-got, leases[0])
		require.NoError(t, p.Close(t.Context()))
		require.Zero(t, second.Usage())
	})
}

func TestCell_WaitsForRoomThatOthersAreLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, pool.Config{Chunk: 1}, 4)
		third, err := s.cell.Register("third", omega.Limits{Highest: 9})
		require.NoError(t, err)
		low, err := s.claim(0, 0, 4)
		require.NoError(t, err)
		tx := omega.Txn{Now: time.Now(), Grace: time.Minute}
		tx.Claim(omega.Claim{Machine: s.ids[0], Need: v(1), Precedence: 9, Victims: []omega.AllocationID{low}})
		_, err = third.Commit(&tx)
		require.NoError(t, err)
		start := time.Now()
		got := queue(t, s.pool, "a", v(3))
		synctest.Wait()
		require.Empty(t, got, "what was preempted runs on in its grace")
		l := <-got
		require.GreaterOrEqual(t, time.Since(start), time.Minute)
		release(t, l)
		for m := range s.other.Marked() {
			require.NoError(t, s.other.Release(m.Allocation.ID))
		}
	})
}

func TestCell_HoldsUnderStress(t *testing.T) {
	s := share(t, pool.Config{Chunk: 2}, 8, 8, 8)
	ctx, stop := context.WithCancel(t.Context())
	var busy, side sync.WaitGroup
	for g := range 6 {
		busy.Go(func() {
			n := tenant(t, s.pool, fmt.Sprint("t", g%3))
			for i := range 300 {
				if l, err := n.Acquire(t.Context(), v(int64(i%3+1))); err == nil {
					_ = l.Context().Err()
					_ = l.Release()
				}
				if l, ok := n.TryAcquire(v(1)); ok {
					_ = l.Release()
				}
			}
		})
	}
	side.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			m := s.ids[i%len(s.ids)]
			victims, _ := s.cell.Victims(m, v(4), 9)
			tx := omega.Txn{Now: time.Now(), Grace: omega.AtOnce}
			tx.Claim(omega.Claim{Machine: m, Need: v(4), Precedence: 9, Victims: victims})
			if granted, err := s.other.Commit(&tx); err == nil && granted == 1 {
				a, _ := tx.Allocation(0)
				_ = s.other.Release(a)
			}
		}
	})
	side.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			_ = s.cell.Drain(s.ids[i%2])
			_ = s.cell.Resume(s.ids[i%2])
		}
	})
	busy.Wait()
	stop()
	side.Wait()
}

// A cell takes no name as long as that of a tenant in a group may be. Its leases are
// charged to the account of the pool.
func TestCell_ChargesATenantWithALongNameToThePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, pool.Config{Chunk: 1, Account: "the pool"}, 8)
		group, err := s.pool.Tenant(strings.Repeat("g", resources.MaxName))
		require.NoError(t, err)
		long, err := group.Tenant("t")
		require.NoError(t, err)
		l, err := long.Acquire(t.Context(), v(3))
		require.NoError(t, err)
		synctest.Wait()
		a, err := s.cell.Account(t.Context(), "the pool")
		require.NoError(t, err)
		used, err := s.cell.Usage(a)
		require.NoError(t, err)
		require.Equal(t, v(3), used)
		release(t, l)
	})
}
