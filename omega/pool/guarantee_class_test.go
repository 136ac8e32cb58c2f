package pool_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
)

// class returns settings of a class.
func class(n int) pool.Settings { return pool.Settings{Priority: n} }

// The lowest class makes way first, whatever its tenants hold. Within a class the tenant
// that holds the most for its weight does, and of one tenant the youngest lease.
func TestGuarantee_PreemptsTheLowestClassFirst(t *testing.T) {
	type holder struct {
		s     pool.Settings
		units int // leases of one unit
	}
	for name, c := range map[string]struct {
		holders []holder
		ask     int64
		gone    []int // leases preempted, by holder
	}{
		"one of a lower class":         {[]holder{{class(0), 2}, {class(-1), 1}}, 1, []int{0, 1}},
		"it came first":                {[]holder{{class(-1), 1}, {class(0), 2}}, 1, []int{1, 0}},
		"classes below that":           {[]holder{{class(-1), 3}, {class(-7), 1}, {class(0), 5}}, 2, []int{1, 1, 0}},
		"the higher one is safe":       {[]holder{{class(1), 5}, {class(0), 1}, {class(-1), 1}}, 2, []int{0, 1, 1}},
		"the most within a class":      {[]holder{{class(-1), 1}, {class(-1), 2}, {class(0), 3}}, 2, []int{0, 2, 0}},
		"by weight":                    {[]holder{{pool.Settings{Weight: 4}, 3}, {class(0), 2}}, 1, []int{0, 1}},
		"the youngest of equals":       {[]holder{{class(-1), 1}, {class(-1), 1}}, 1, []int{0, 1}},
		"its guarantee covers the low": {[]holder{{class(0), 1}, {pool.Settings{Priority: -1, Guarantee: v(1)}, 1}}, 1, []int{1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var units int64
				for _, h := range c.holders {
					units += int64(h.units)
				}
				p := newPool(t, oneMachine(units))
				gold := tenant(t, p, "gold", pool.Settings{Guarantee: v(c.ask)})
				var held [][]pool.Lease
				for i, h := range c.holders {
					held = append(held, take(t, tenant(t, p, string(rune('a'+i)), h.s), h.units, 1))
				}
				runs := submit(t, gold, c.ask)
				for i, leases := range held {
					gone := preempted(leases)
					require.Equal(t, leases[len(leases)-c.gone[i]:], append([]pool.Lease{}, gone...), "the youngest of holder %d", i)
					release(t, gone...)
				}
				require.True(t, runs())
			})
		})
	}
}

// Classes hold among siblings. That of a lease is the class of the tenant or group beside
// that of the guarantee, where their paths part.
func TestGuarantee_TakesTheClassWhereThePathsPart(t *testing.T) {
	for name, c := range map[string]struct {
		team, inTeam, other int // classes: a group, a tenant in it, and a tenant beside it
		fromTeam            bool
	}{
		"a low group of a high tenant":       {-1, 9, 0, true},
		"a high group of a low tenant":       {0, -9, -1, false},
		"a group that is safe":               {1, -9, 0, false},
		"the tenant's own class says naught": {-2, 0, -1, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, oneMachine(4))
				team := within(t, tenant(t, p, "team", class(c.team)), "x", class(c.inTeam))
				other := tenant(t, p, "other", class(c.other))
				mine, others := take(t, team, 2, 1), take(t, other, 2, 1)
				submit(t, tenant(t, p, "gold", pool.Settings{Guarantee: v(1)}), 1)
				if c.fromTeam {
					require.Equal(t, mine[1:], preempted(mine))
					require.Empty(t, preempted(others))
				} else {
					require.Equal(t, others[1:], preempted(others))
					require.Empty(t, preempted(mine))
				}
			})
		})
	}
	for name, c := range map[string]struct {
		org, gold, beside, outside int // classes: a group, two tenants in it, and one outside
		fromBeside                 bool
	}{
		"lower beside it":                {0, 0, -1, 0, true},
		"lower outside":                  {0, 0, 0, -1, false},
		"as low, and the other is lower": {10, 0, 0, 1, false},
		"further below":                  {5, 5, 3, 4, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, oneMachine(4))
				org := tenant(t, p, "org", class(c.org))
				gold := within(t, org, "gold", pool.Settings{Priority: c.gold, Guarantee: v(1)})
				beside := take(t, within(t, org, "beside", class(c.beside)), 2, 1)
				outside := take(t, tenant(t, p, "outside", class(c.outside)), 2, 1)
				submit(t, gold, 1)
				require.Equal(t, c.fromBeside, len(preempted(beside)) == 1)
				require.Equal(t, c.fromBeside, len(preempted(outside)) == 0)
			})
		})
	}
}

// So is the machine chosen: where the highest class that is preempted is the lowest, then
// where the least is.
func TestGuarantee_PreemptsOnTheMachineOfTheLowestClass(t *testing.T) {
	for name, asks := range map[string][]int64{"one need": {1}, "two needs": {1, 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, pool.Config{Machines: machines(4, 4, 4, 4), Patience: -1})
				gold := tenant(t, p, "gold", pool.Settings{Guarantee: v(4)})
				mid, lo := tenant(t, p, "mid"), tenant(t, p, "lo", class(-1))
				small := take(t, mid, 4, 1) // the first machine
				mixed := append(take(t, mid, 1, 3), take(t, lo, 1, 1)...)
				large, larger := take(t, lo, 1, 4), take(t, lo, 1, 4)
				granted := request(t, gold, 0, asks...)
				require.Empty(t, preempted(small))
				require.Equal(t, mixed[1:], preempted(mixed), "less than the others of that class")
				require.Empty(t, preempted(larger))
				release(t, mixed[1])
				if len(asks) == 1 {
					require.Empty(t, preempted(large))
				} else {
					require.Len(t, preempted(large), 1)
					release(t, large...)
				}
				require.True(t, granted())
			})
		})
	}
}

// Room that is promised to others is taken over before leases are preempted, that of the
// lowest class first.
func TestGuarantee_TakesThePromiseOfTheLowestClassFirst(t *testing.T) {
	for _, low := range []string{"y", "z"} {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, pool.Config{Machines: machines(4), Grace: time.Hour, Patience: -1})
			org := tenant(t, p, "org", pool.Settings{Guarantee: v(4)})
			x := within(t, org, "x", pool.Settings{Guarantee: v(4)})
			take(t, x, 1, 1)
			y, z := within(t, org, "y"), within(t, org, "z")
			held := take(t, tenant(t, p, "b"), 3, 1)
			require.NoError(t, within(t, org, low).Set(class(-1)))
			ofY, ofZ := submit(t, y, 1), submit(t, z, 1)
			require.Len(t, preempted(held), 2)
			first := submit(t, x, 1)
			release(t, held[1:]...)
			require.True(t, first())
			require.Equal(t, low == "z", ofY())
			require.Equal(t, low == "y", ofZ())
		})
	}
}
