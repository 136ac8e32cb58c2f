package pool_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
)

// Two or more tenants, the first of weight 10, compete for all that a limit or a
// rate allows. Each case says where the bound is.
func TestPool_SlotTimeFollowsWeightsBelowLimitsAndRates(t *testing.T) {
	ten := pool.Settings{Weight: 10}
	limit := func(units int64) pool.Settings { return pool.Settings{Limit: v(units, units), Limited: true} }
	group := func(settings ...pool.Settings) []pool.Settings { return settings }
	for name, tc := range map[string]struct {
		slots  int64
		groups []pool.Settings // from the root down
		first  pool.Settings   // of the tenant of weight 10
		others pool.Settings
		n      int // of the others
		want   float64
	}{
		"group limit of one":          {100, group(limit(1)), ten, pool.Settings{}, 1, 10},
		"group limit of two":          {100, group(limit(2)), ten, pool.Settings{}, 1, 10},
		"group limit, four tenants":   {100, group(limit(2)), ten, pool.Settings{}, 3, 10},
		"limit two groups above":      {100, group(limit(2), pool.Settings{}), ten, pool.Settings{}, 1, 10},
		"limit three groups above":    {100, group(limit(3), limit(50), pool.Settings{}), ten, pool.Settings{}, 2, 10},
		"group rate":                  {100, group(pool.Settings{Rate: 10}), ten, pool.Settings{}, 1, 10},
		"group rate, four tenants":    {100, group(pool.Settings{Rate: 10}), ten, pool.Settings{}, 3, 10},
		"group rate, large burst":     {100, group(pool.Settings{Rate: 50, Burst: 20}), ten, pool.Settings{}, 1, 10},
		"rate two groups above":       {100, group(pool.Settings{Rate: 10}, pool.Settings{}), ten, pool.Settings{}, 1, 10},
		"rates on two levels":         {100, group(pool.Settings{Rate: 10}, pool.Settings{Rate: 11}), ten, pool.Settings{}, 1, 10},
		"group rate and limit":        {100, group(pool.Settings{Rate: 30, Limit: v(1, 1), Limited: true}), ten, pool.Settings{}, 1, 10},
		"group rate beyond the slots": {2, group(pool.Settings{Rate: 1000}), ten, pool.Settings{}, 1, 10},
		"and with a burst":            {2, group(pool.Settings{Rate: 1000, Burst: 100}), ten, pool.Settings{}, 1, 10},
		// A slot of tasks of 50 ms serves 20 a second.
		"own rates, one slot":             {1, nil, pool.Settings{Weight: 10, Rate: 40}, pool.Settings{Rate: 40}, 1, 10},
		"own rates, one slot, three":      {1, nil, pool.Settings{Weight: 10, Rate: 40}, pool.Settings{Rate: 40}, 2, 10},
		"own rates, bursts":               {1, nil, pool.Settings{Weight: 10, Rate: 19, Burst: 20}, pool.Settings{Rate: 19, Burst: 20}, 1, 10},
		"own rate of the heavy one alone": {2, nil, pool.Settings{Weight: 10, Rate: 100, Burst: 2}, pool.Settings{}, 1, 10},
		"own rate of the light one alone": {1, nil, ten, pool.Settings{Rate: 30}, 1, 10},
		"own rates below a group limit":   {100, group(limit(1)), pool.Settings{Weight: 10, Rate: 40}, pool.Settings{Rate: 40}, 1, 10},
		// A limit of its own leaves a tenant half of what its group may hold.
		"tenant limit below a group limit": {100, group(limit(2)), pool.Settings{Weight: 10, Limit: v(1, 1), Limited: true}, pool.Settings{}, 1, 1},
		"tenant limits below a group limit": {
			100, group(limit(2)), pool.Settings{Weight: 10, Limit: v(2, 2), Limited: true}, limit(1), 1, 10,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, oneMachine(tc.slots))
				handle := func(name string, s pool.Settings) *pool.Tenant { return tenant(t, p, name, s) }
				for i, s := range tc.groups {
					g := handle(fmt.Sprint("group", i), s)
					handle = func(name string, s pool.Settings) *pool.Tenant {
						n, err := g.Tenant(name, s)
						require.NoError(t, err)
						return n
					}
				}
				loads := []*load{{tenant: handle("first", tc.first), need: v(1), length: 50 * time.Millisecond, workers: 8}}
				for i := range tc.n {
					loads = append(loads, &load{tenant: handle(fmt.Sprint(i), tc.others), need: v(1), length: 50 * time.Millisecond, workers: 8})
				}
				run(t, 100*time.Second, loads...)
				require.InDelta(t, tc.want, advantage(loads), tc.want/10)
			})
		})
	}
}

// Groups below a limit or a rate share it by their weights, as tenants do.
func TestPool_GroupsShareTheLimitOrRateAboveThem(t *testing.T) {
	for name, s := range map[string]pool.Settings{
		"limit of one": {Limit: v(1, 1), Limited: true},
		"limit of six": {Limit: v(6, 6), Limited: true},
		"rate":         {Rate: 40},
		"rate, burst":  {Rate: 40, Burst: 10},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, oneMachine(100))
				top := tenant(t, p, "top", s)
				var loads []*load
				var of [2]time.Duration
				for i, weight := range []float64{10, 1} {
					group, err := top.Tenant(fmt.Sprint("group", i), pool.Settings{Weight: weight})
					require.NoError(t, err)
					for j, weight := range []float64{3, 1} {
						n, err := group.Tenant(fmt.Sprint(j), pool.Settings{Weight: weight})
						require.NoError(t, err)
						loads = append(loads, &load{tenant: n, need: v(1), length: 50 * time.Millisecond, workers: 8})
					}
				}
				run(t, 200*time.Second, loads...)
				for i := range of {
					of[i] = loads[2*i].ran + loads[2*i+1].ran
					require.InDelta(t, 3, loads[2*i].ran.Seconds()/loads[2*i+1].ran.Seconds(), 0.3)
				}
				require.InDelta(t, 10, of[0].Seconds()/of[1].Seconds(), 1)
			})
		})
	}
}

// A group at its limit or rate takes no more than that from tenants beside it, and
// uses all of it.
func TestPool_AHeldBackGroupKeepsToItsBoundBesideOthers(t *testing.T) {
	for name, s := range map[string]pool.Settings{
		"limit": {Weight: 100, Limit: v(2, 2), Limited: true},
		"rate":  {Weight: 100, Rate: 40, Burst: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, oneMachine(8))
				group := tenant(t, p, "group", s)
				var loads []*load
				for i, weight := range []float64{10, 1} {
					n, err := group.Tenant(fmt.Sprint(i), pool.Settings{Weight: weight})
					require.NoError(t, err)
					loads = append(loads, &load{tenant: n, need: v(1), length: 50 * time.Millisecond, workers: 8})
				}
				beside := []*load{
					{tenant: tenant(t, p, "a", pool.Settings{Weight: 2}), need: v(1), length: 50 * time.Millisecond, workers: 16},
					{tenant: tenant(t, p, "b"), need: v(1), length: 50 * time.Millisecond, workers: 16},
				}
				run(t, 100*time.Second, append(loads, beside...)...)
				require.InDelta(t, 200, (loads[0].ran + loads[1].ran).Seconds(), 6)
				require.InDelta(t, 10, advantage(loads), 1)
				require.InDelta(t, 600, (beside[0].ran + beside[1].ran).Seconds(), 6)
				require.InDelta(t, 2, advantage(beside), 0.2)
			})
		})
	}
}

// The order of a group, not the time of a request, decides which tenant is given a token.
// So it is also with a request that comes in the moment in which there is one.
func TestRate_ATokenGoesToTheFirstInTheOrder(t *testing.T) {
	for name, ask := range map[string]func(*pool.Tenant){
		"Acquire": func(n *pool.Tenant) { _, _ = n.Acquire(context.Background(), v(1)) },
		"Try":     func(n *pool.Tenant) { n.TryAcquire(v(1)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, oneMachine(100))
				group := tenant(t, p, "group", pool.Settings{Rate: 1})
				high, err := group.Tenant("high", pool.Settings{Priority: 1})
				require.NoError(t, err)
				low, err := group.Tenant("low")
				require.NoError(t, err)
				_, ok := low.TryAcquire(v(1))
				require.True(t, ok)
				go func() { _, _ = high.Acquire(context.Background(), v(1)) }()
				synctest.Wait()
				go func() {
					time.Sleep(time.Second) // the moment of the token
					ask(low)
				}()
				time.Sleep(1500 * time.Millisecond)
				granted := map[string]uint64{}
				for _, s := range p.Stats().Tenants {
					granted[s.Name] = s.Granted
				}
				require.Equal(t, uint64(1), granted["group/high"])
				require.Equal(t, uint64(1), granted["group/low"])
				time.Sleep(time.Minute)
			})
		})
	}
}
