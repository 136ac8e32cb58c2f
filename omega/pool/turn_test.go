package pool_test

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

func TestAcquire_PoorestTenantFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(10)})
		// Dominant shares: rich 5/10 of the second kind, middle 3/10 and poor
		// 1/10 of the first.
		held := []*pool.Lease{acquire(t, p, "rich", 0, 5), acquire(t, p, "middle", 3), acquire(t, p, "poor", 1)}
		rest := acquire(t, p, "rest", 6)
		rich, middle, poor := queue(t, p, "rich", v(6)), queue(t, p, "middle", v(6)), queue(t, p, "poor", v(6))

		release(t, rest)
		first := arrived(poor)
		require.NotNil(t, first)
		require.Nil(t, arrived(middle))
		release(t, first)
		second := arrived(middle)
		require.NotNil(t, second)
		require.Nil(t, arrived(rich))
		release(t, second)
		release(t, append(held, arrived(rich))...)
		require.Equal(t, v(10, 10), p.Stats().Free)
	})
}

func TestAcquire_WeightsScaleShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(12), Weights: map[string]float64{"heavy": 4}})
		a, b, rest := acquire(t, p, "heavy", 4), acquire(t, p, "light", 2), acquire(t, p, "rest", 6)
		light, heavy := queue(t, p, "light", v(6)), queue(t, p, "heavy", v(6))
		release(t, rest)
		first := arrived(heavy) // 4/12/4 is less than 2/12
		require.NotNil(t, first)
		require.NoError(t, p.SetWeight("light", 1e6))
		release(t, first)
		release(t, arrived(light), a, b)
		require.ErrorIs(t, p.SetWeight("light", math.NaN()), drf.ErrWeight)
		require.ErrorIs(t, p.SetWeight("light", 0), drf.ErrWeight)
	})
}

// Another weight can make another tenant next.
func TestSetWeight_WakesWhoIsNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(10)})
		rich, middle := acquire(t, p, "b", 3), acquire(t, p, "a", 2)
		first, second := queue(t, p, "a", v(6)), queue(t, p, "b", v(5))
		require.Nil(t, arrived(second), "room is kept back for a")
		require.ErrorIs(t, p.SetWeight("ghost", math.Inf(1)), drf.ErrWeight)
		require.ErrorContains(t, p.SetWeight("ghost", math.Inf(1)), `"ghost"`)
		require.Len(t, p.Stats().Tenants, 2, "a refused weight makes no tenant")
		require.NoError(t, p.SetWeight("b", 1000))
		l := arrived(second)
		require.NotNil(t, l)
		time.Sleep(time.Minute)
		release(t, l, rich)
		release(t, arrived(first), middle)
		for _, tenant := range p.Stats().Tenants {
			waited := map[string]time.Duration{"a": time.Minute, "b": 0}[tenant.Name]
			require.Equal(t, waited, tenant.Waited)
			require.EqualValues(t, 2, tenant.Granted)
		}
	})
}

func TestAcquire_FirstComeFirstServedWithinATenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4)})
		all := acquire(t, p, "a", 4)
		large, small := queue(t, p, "a", v(4)), queue(t, p, "a", v(1))
		release(t, all)
		l := arrived(large)
		require.NotNil(t, l)
		require.Nil(t, arrived(small))
		_, err := p.TryAcquire("a", v(1))
		require.ErrorIs(t, err, pool.ErrNoRoom)
		release(t, l)
		release(t, arrived(small))
	})
}

// Where there is room for one lease only, all shares are equal, namely nothing,
// whenever somebody is next.
func TestAcquire_EqualsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(1)})
		served := map[string]int{}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, name := range []string{"a", "b", "c"} {
			for range 2 {
				wg.Go(func() {
					for p.Do(ctx, name, v(1), func(context.Context) error {
						served[name]++ // one at a time, as the pool has it
						time.Sleep(time.Second)
						return nil
					}) == nil {
					}
				})
			}
		}
		time.Sleep(299*time.Second + time.Millisecond)
		cancel()
		wg.Wait()
		for name, n := range served {
			require.InDelta(t, 100, n, 1, name) // who starts first, and who is cut off
		}
	})
}

// Three tenants of unlike appetite that always want more hold equal dominant
// shares, in virtual time.
func TestAcquire_SharesEvenOutOverTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(24, 24, 24)})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		needs := map[string]resources.Vector{"cpu": v(3, 1), "memory": v(1, 4), "both": v(1, 1)}
		var wg sync.WaitGroup
		for name, need := range needs {
			for i := range 80 {
				rng := rand.New(rand.NewPCG(uint64(i), 7))
				wg.Go(func() {
					for p.Do(ctx, name, need, func(context.Context) error {
						time.Sleep(time.Second + time.Duration(rng.Int64N(int64(time.Second))))
						return nil
					}) == nil {
					}
				})
			}
		}
		sums := map[string]float64{}
		for range 3000 {
			time.Sleep(time.Second)
			for _, s := range p.Stats().Tenants {
				sums[s.Name] += s.Share
			}
		}
		cancel()
		wg.Wait()
		least, most := math.Inf(1), 0.0
		for _, s := range sums {
			least, most = min(least, s), max(most, s)
		}
		// Tasks are indivisible: one of memory's is 4/72 of the pool.
		require.Greater(t, least/most, 0.85, "%v", sums)
		require.Equal(t, p.Stats().Total, p.Stats().Free)
	})
}
