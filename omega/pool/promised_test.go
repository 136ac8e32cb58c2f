package pool_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
)

// within returns a tenant of a group.
func within(t *testing.T, g *pool.Tenant, name string, s ...pool.Settings) *pool.Tenant {
	t.Helper()
	n, err := g.Tenant(name, s...)
	require.NoError(t, err)
	return n
}

// take acquires n leases at once.
func take(t *testing.T, n *pool.Tenant, count int, need ...int64) (all []pool.Lease) {
	t.Helper()
	for range count {
		l, ok := n.TryAcquire(v(need...))
		require.True(t, ok)
		all = append(all, l)
	}
	return all
}

// preempted returns those of some leases that are preempted.
func preempted(of []pool.Lease) (some []pool.Lease) {
	for _, l := range of {
		if l.Context().Err() != nil {
			some = append(some, l)
		}
	}
	return some
}

// heldBy returns what a tenant or group holds of the first kind.
func heldBy(t *testing.T, p *pool.Pool, name string) int64 {
	t.Helper()
	for _, s := range p.Stats().Tenants {
		if s.Name == name {
			return s.Held[0]
		}
	}
	require.Fail(t, "no tenant "+name)
	return 0
}

func limited(limit, guarantee int64) pool.Settings {
	return pool.Settings{Limit: v(limit, 100), Limited: true, Guarantee: v(guarantee)}
}

// A group at its limit gives a guarantee within it back from its own leases. The
// leases of others stay, whether or not there is room beside them.
func TestGuarantee_InAGroupAtItsLimitIsTakenBackWithinTheGroup(t *testing.T) {
	for name, units := range map[string]int64{"beside free room": 12, "on a full machine": 8} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, oneMachine(units))
				g := tenant(t, p, "g", limited(6, 6))
				a, b := within(t, g, "a"), within(t, g, "b", pool.Settings{Guarantee: v(3)})
				others, held := take(t, tenant(t, p, "others"), 2, 1), take(t, a, 6, 1)
				again := submit(t, a, 1)
				var starts []func() bool
				for range 4 {
					starts = append(starts, submit(t, b, 1))
				}
				require.Empty(t, preempted(others))
				gone := preempted(held)
				require.Len(t, gone, 3, "as many as the guarantee covers")
				for i := range gone {
					require.False(t, starts[i](), "the limit holds until a lease is released")
					release(t, gone[2-i]) // the latest first
					require.True(t, starts[i]())
					require.EqualValues(t, 6, heldBy(t, p, "g"))
				}
				require.False(t, again(), "what is promised counts towards the limit")
				require.False(t, starts[3]())
			})
		})
	}
}

// A request that is promised the rest of a limit gets it, although smaller requests
// in the group would fit first.
func TestGuarantee_OfALargeRequestInAGroupAtItsLimitIsNotPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(20))
		g := tenant(t, p, "g", limited(6, 6))
		a, b := within(t, g, "a"), within(t, g, "b", pool.Settings{Guarantee: v(4)})
		held := take(t, a, 6, 1)
		small, large := submit(t, a, 1), submit(t, b, 3)
		more := submit(t, b, 1)
		gone := preempted(held)
		require.Len(t, gone, 4)
		release(t, gone[0]) // of the second request; its holder is the first to release
		require.True(t, more(), "another one's holders are late")
		for _, l := range gone[1:] {
			require.False(t, large())
			release(t, l)
			require.LessOrEqual(t, heldBy(t, p, "g"), int64(6))
		}
		require.True(t, large())
		require.False(t, small())
	})
}

// Leases that leave the group room on another machine are preempted, too, and each
// limit on the way up is kept.
func TestGuarantee_InGroupsAtTheirLimitsOnSeveralMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4, 4, 4), Patience: -1})
		org := tenant(t, p, "org", limited(7, 0))
		team := within(t, org, "team", limited(5, 0))
		owed := within(t, team, "owed", pool.Settings{Guarantee: v(3)})
		one, two := take(t, within(t, team, "one"), 4, 1), take(t, within(t, org, "two"), 3, 1)
		first, second := submit(t, owed, 2), submit(t, owed, 1)
		gone := append(preempted(one), preempted(two)...)
		require.NotEmpty(t, preempted(one), "the team has one unit left")
		require.Len(t, gone, 3, "the organisation has none")
		release(t, gone...)
		require.True(t, first())
		require.True(t, second())
		require.EqualValues(t, 7, heldBy(t, p, "org"))
		require.LessOrEqual(t, heldBy(t, p, "org/team"), int64(5))
	})
}

// Where the limit is that of the tenant itself, or its group may not give more,
// nothing is preempted: the room could not be used.
func TestGuarantee_BeyondALimitTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(8))
		a := tenant(t, p, "a", pool.Settings{Guarantee: v(2), Limit: v(2, 1), Limited: true})
		mine := take(t, a, 1, 1, 1)
		held := take(t, tenant(t, p, "b"), 7, 1)
		next := submit(t, a, 1, 1)
		require.Empty(t, preempted(held))
		release(t, mine...)
		require.True(t, next())
	})
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(8))
		g := tenant(t, p, "g", limited(4, 0))
		high := take(t, within(t, g, "high", pool.Settings{Priority: 1}), 3, 1)
		held := take(t, tenant(t, p, "b"), 5, 1)
		large, small := submit(t, within(t, g, "owed", pool.Settings{Guarantee: v(3)}), 2), submit(t, within(t, g, "small"), 1)
		require.Empty(t, preempted(append(held, high...)), "leases of a higher class are safe")
		release(t, held[0])
		require.True(t, small(), "no promise is in its way")
		require.False(t, large())
	})
}

// Two guarantees in a group share its limit: the second takes room in the group, not
// room outside that it could not use.
func TestGuarantee_WhatIsPromisedCountsTowardsTheLimitOfTheGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(10))
		g := tenant(t, p, "g", limited(4, 0))
		a, b := within(t, g, "a", pool.Settings{Guarantee: v(2)}), within(t, g, "b", pool.Settings{Guarantee: v(2)})
		held := take(t, tenant(t, p, "x"), 4, 2)
		mine := take(t, within(t, g, "c"), 2, 1)
		first, second := submit(t, a, 2), submit(t, b, 2)
		require.Len(t, preempted(held), 1)
		require.Len(t, preempted(mine), 2)
		release(t, append(preempted(held), mine...)...)
		require.True(t, first())
		require.True(t, second())
		require.EqualValues(t, 4, heldBy(t, p, "g"))
	})
}

// No more is preempted than the rate lets start, and each token lets one more.
func TestGuarantee_KeepsToTheRate(t *testing.T) {
	for _, burst := range []int{1, 3} {
		for name, at := range map[string]func(p *pool.Pool, s pool.Settings) *pool.Tenant{
			"of the tenant": func(p *pool.Pool, s pool.Settings) *pool.Tenant { return tenant(t, p, "a", s) },
			"of its group": func(p *pool.Pool, s pool.Settings) *pool.Tenant {
				return within(t, tenant(t, p, "g", pool.Settings{Rate: s.Rate, Burst: s.Burst}), "a", pool.Settings{Guarantee: s.Guarantee})
			},
		} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := newPool(t, oneMachine(10))
					a := at(p, pool.Settings{Guarantee: v(5), Rate: 1.0 / 3600, Burst: burst})
					held := take(t, tenant(t, p, "b"), 10, 1)
					var starts []func() bool
					for range 5 {
						starts = append(starts, submit(t, a, 1))
					}
					require.Len(t, preempted(held), burst)
					release(t, preempted(held)...)
					held = held[:10-burst]
					require.True(t, starts[burst-1]())
					require.False(t, starts[burst]())
					require.Zero(t, p.Stats().Machines[0].Reserved, "no room idles")
					time.Sleep(time.Hour + time.Second)
					gone := preempted(held)
					require.Len(t, gone, 1)
					require.False(t, starts[burst]())
					release(t, gone...)
					require.True(t, starts[burst]())
				})
			})
		}
	}
}

// Preemption runs at the pace of the rate while holders take their time, and starts
// never exceed the rate.
func TestGuarantee_IsRestoredAtThePaceOfTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(10), Grace: 10 * time.Second, Patience: -1})
		a := tenant(t, p, "a", pool.Settings{Guarantee: v(5), Rate: 2})
		held := take(t, tenant(t, p, "b"), 10, 1)
		for _, l := range held {
			context.AfterFunc(l.Context(), func() { time.AfterFunc(4*time.Second, func() { _ = l.Release() }) })
		}
		start := time.Now()
		var at []time.Duration
		for range 5 {
			require.NoError(t, a.Go(t.Context(), v(1), func(context.Context, pool.Lease) error {
				at = append(at, time.Since(start))
				time.Sleep(time.Hour)
				return nil
			}))
		}
		time.Sleep(10 * time.Millisecond) // a token is there within that
		for range 20 {
			time.Sleep(time.Second / 2)
			synctest.Wait()
			require.Zero(t, p.Stats().Free[0], "no room idles")
		}
		require.Len(t, at, 5)
		for i, d := range at {
			require.InDelta(t, (4*time.Second + time.Duration(i)*time.Second/2).Seconds(), d.Seconds(), 0.01)
		}
		time.Sleep(2 * time.Hour)
	})
}

// Room that is promised to more requests than new settings let start goes to others.
func TestGuarantee_PromisesBeyondNewSettingsAreWithdrawn(t *testing.T) {
	for name, c := range map[string]struct {
		s    pool.Settings
		kept int64 // units that stay promised
	}{
		"a limit below one":   {pool.Settings{Guarantee: v(1), Limit: v(1, 1), Limited: true}, 0},
		"a limit for one":     {pool.Settings{Guarantee: v(3), Limit: v(3, 1), Limited: true}, 2},
		"a rate":              {pool.Settings{Guarantee: v(5), Rate: 0.001}, 2},
		"a rate with a burst": {pool.Settings{Guarantee: v(5), Rate: 0.001, Burst: 2}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, oneMachine(10))
				a := tenant(t, p, "a", pool.Settings{Guarantee: v(5)})
				held := take(t, tenant(t, p, "b"), 5, 2)
				first, second := submit(t, a, 2), submit(t, a, 2)
				other := submit(t, tenant(t, p, "o"), 2)
				gone := preempted(held)
				require.Len(t, gone, 2)
				require.NoError(t, a.Set(c.s))
				require.Equal(t, c.kept, p.Stats().Machines[0].Reserved[0])
				release(t, gone...)
				require.Equal(t, c.kept >= 2, first())
				require.Equal(t, c.kept == 4, second())
				require.Equal(t, c.kept < 4, other())
			})
		})
	}
}

// The limit of a group that is lowered withdraws the latest promises in it.
func TestGuarantee_PromisesBeyondANewLimitOfTheGroupAreWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(7))
		g := tenant(t, p, "g", limited(6, 0))
		a, b := within(t, g, "a", pool.Settings{Guarantee: v(2)}), within(t, g, "b", pool.Settings{Guarantee: v(2)})
		take(t, within(t, g, "high", pool.Settings{Priority: 1}), 1, 1) // it is safe from both
		held := take(t, tenant(t, p, "x"), 6, 1)
		first, second, other := submit(t, a, 2), submit(t, b, 2), submit(t, tenant(t, p, "o"), 2)
		require.Len(t, preempted(held), 4)
		require.NoError(t, g.Set(limited(4, 0)))
		require.EqualValues(t, 2, p.Stats().Machines[0].Reserved[0])
		release(t, preempted(held)...)
		require.True(t, first())
		require.True(t, other())
		require.False(t, second())
	})
}
