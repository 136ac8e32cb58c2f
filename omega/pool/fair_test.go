package pool_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// load is a tenant with so many goroutines that each run one task after the
// other.
type load struct {
	tenant  *pool.Tenant
	need    resources.Vector
	length  time.Duration
	workers int
	ran     time.Duration // slot time
}

// run lets loads compete until a time, in a synctest bubble.
func run(t *testing.T, until time.Duration, loads ...*load) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), until)
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, l := range loads {
		for range l.workers {
			wg.Go(func() {
				for l.tenant.Do(ctx, l.need, func(ctx context.Context, _ pool.Lease) error {
					start := time.Now()
					select {
					case <-time.After(l.length):
					case <-ctx.Done(): // at the end, or preempted
					}
					mu.Lock()
					l.ran += time.Since(start)
					mu.Unlock()
					return nil
				}) == nil {
				}
			})
		}
	}
	wg.Wait()
}

func oneMachine(units int64) pool.Config { return pool.Config{Machines: machines(units)} }

// Slot time follows weights where tenants outnumber slots, with as many waiters
// for each tenant as there are slots.
func TestPool_SlotTimeFollowsWeights(t *testing.T) {
	for _, shape := range []struct{ slots, tenants int }{{1, 2}, {2, 2}, {8, 8}, {8, 20}, {8, 4}} {
		t.Run(fmt.Sprintf("slots=%d/tenants=%d", shape.slots, shape.tenants), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, oneMachine(int64(shape.slots)))
				loads := make([]*load, shape.tenants)
				for i := range loads {
					s := pool.Settings{}
					if i == 0 {
						s.Weight = 10
					}
					loads[i] = &load{tenant: tenant(t, p, fmt.Sprint(i), s), need: v(1), length: time.Second, workers: 3 * shape.slots}
				}
				run(t, time.Duration(60*(shape.tenants+9)/shape.slots)*time.Second, loads...)
				require.InDelta(t, 10, advantage(loads), 1)
			})
		})
	}
}

// advantage returns the slot time of the first load as a multiple of the mean of
// the others.
func advantage(loads []*load) float64 {
	var rest time.Duration
	for _, l := range loads[1:] {
		rest += l.ran
	}
	return float64(loads[0].ran) * float64(len(loads)-1) / float64(rest)
}

func TestPool_LongTasksEarnNoMoreSlotTime(t *testing.T) {
	for _, shape := range []struct{ slots, tenants int }{{1, 2}, {2, 2}, {8, 8}, {8, 20}, {8, 4}} {
		t.Run(fmt.Sprintf("slots=%d/tenants=%d", shape.slots, shape.tenants), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, oneMachine(int64(shape.slots)))
				loads := make([]*load, shape.tenants)
				for i := range loads {
					loads[i] = &load{tenant: tenant(t, p, fmt.Sprint(i)), need: v(1), length: time.Second, workers: 3 * shape.slots}
				}
				loads[0].length = 10 * time.Second
				run(t, time.Duration(300*shape.tenants/shape.slots)*time.Second, loads...)
				require.InDelta(t, 1, advantage(loads), 0.3)
			})
		})
	}
}

// Ten units, one held for an hour, a request for all ten: the other nine stay in
// use, and the request starts soon after the hour.
func TestPool_ALargeRequestDoesNotIdleThePool(t *testing.T) {
	for length, hold := range map[time.Duration]time.Duration{
		10 * time.Millisecond: time.Minute, time.Second: time.Hour, time.Minute: time.Hour,
	} {
		t.Run(length.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, oneMachine(10))
				long := acquire(t, p, "long", 1)
				small := &load{tenant: tenant(t, p, "small"), need: v(1), length: length, workers: 20}
				large := tenant(t, p, "large")
				start := time.Now()
				var served time.Duration
				var wg sync.WaitGroup
				wg.Go(func() {
					time.Sleep(time.Second)
					l, err := large.Acquire(t.Context(), v(10))
					if err != nil {
						t.Error(err)
						return
					}
					served = time.Since(start)
					_ = l.Release()
				})
				wg.Go(func() {
					time.Sleep(hold)
					_ = long.Release()
				})
				wg.Go(func() { run(t, hold+3*length, small) })
				wg.Wait()
				require.Greater(t, float64(small.ran), 0.8*9*float64(hold))
				require.LessOrEqual(t, served, hold+2*length)
			})
		})
	}
}

// A stream of large requests and one of small ones share one pool: both go on.
func TestPool_LargeAndSmallShareByWeight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(8))
		large := &load{tenant: tenant(t, p, "large"), need: v(8), length: time.Second, workers: 4}
		small := &load{tenant: tenant(t, p, "small"), need: v(1), length: time.Second, workers: 16}
		run(t, 30*time.Minute, large, small)
		ratio := 8 * float64(large.ran) / float64(small.ran)
		require.Greater(t, ratio, 0.4, "large %v small %v", large.ran, small.ran)
		require.Less(t, ratio, 1.5)
	})
}

func TestPool_GroupsShareBeforeTheirTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(8))
		var loads []*load
		for g, weight := range []float64{10, 10, 1} {
			group := tenant(t, p, fmt.Sprint("team", g), pool.Settings{Weight: weight})
			for i := range 10 {
				n, err := group.Tenant(fmt.Sprint(i))
				require.NoError(t, err)
				loads = append(loads, &load{tenant: n, need: v(1), length: time.Second, workers: 8})
			}
		}
		require.Equal(t, "team1/3", loads[13].tenant.Name())
		run(t, 500*time.Second, loads...)
		var sums [3]time.Duration
		for i, l := range loads {
			sums[i/10] += l.ran
			require.LessOrEqual(t, float64(l.ran), 1.3*float64(loads[i/10*10].ran), "within its group")
			require.GreaterOrEqual(t, 1.3*float64(l.ran), float64(loads[i/10*10].ran))
		}
		require.InDelta(t, 10, float64(sums[0])/float64(sums[2]), 1)
		require.InDelta(t, 10, float64(sums[1])/float64(sums[2]), 1)
	})
}

func TestPool_LimitsAreNeverExceededAndGuaranteesComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(8))
		limited := &load{tenant: tenant(t, p, "limited", pool.Settings{Weight: 100, Limit: v(2, 2), Limited: true}), need: v(1), length: time.Second, workers: 8}
		owed := &load{tenant: tenant(t, p, "owed", pool.Settings{Weight: 0.001, Guarantee: v(3)}), need: v(1), length: time.Second, workers: 8}
		other := &load{tenant: tenant(t, p, "other"), need: v(1), length: time.Second, workers: 16}
		var wg sync.WaitGroup
		wg.Go(func() { run(t, 100*time.Second, limited, owed, other) })
		for range 190 {
			time.Sleep(500 * time.Millisecond)
			for _, s := range p.Stats().Tenants {
				if s.Name == "limited" {
					require.LessOrEqual(t, s.Held[0], int64(2))
				}
			}
		}
		wg.Wait()
		require.InDelta(t, 200, limited.ran.Seconds(), 10)
		require.InDelta(t, 300, owed.ran.Seconds(), 10)
		require.InDelta(t, 300, other.ran.Seconds(), 10)
	})
}
