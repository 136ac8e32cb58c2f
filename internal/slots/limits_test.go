package slots_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/mcf"
	"github.com/cellsched/cellsched/internal/shapes"
	"github.com/cellsched/cellsched/internal/slots"
)

// ladder is a cell of machines with a slot each. Task i is on machine i, and would be on
// the next one for dear more. A task that can go to the first only sends all of them one
// on.
func ladder(machines int, dear int64) (n *slots.Net, first slots.Loc) {
	n = slots.New()
	locs := make([]slots.Loc, machines)
	for i := range locs {
		locs[i] = n.AddLeaf(slots.Sink)
		n.SetLeaf(locs[i], 0, 1)
	}
	for i := range machines - 1 {
		n.Add([]slots.Option{{Base: -dear / 2, At: locs[i]}, {Base: dear / 2, At: locs[i+1]}})
	}
	return n, locs[0]
}

// The longest path there is, at the largest costs: prices come to 2^61.
func TestSolve_HoldsTheLargestCosts(t *testing.T) {
	const machines, dear = 1<<16 - 2, 1 << 45
	for name, looks := range map[string]int64{"prices kept": math.MaxInt64, "prices by auction": 0} {
		t.Run(name, func(t *testing.T) {
			n, first := ladder(machines, dear)
			require.NoError(t, n.Solve(t.Context(), 0))
			require.NoError(t, n.Verify())
			n.SetLooks(looks, math.MaxInt64, 1<<14)
			last := n.Add([]slots.Option{{Base: -dear / 2, At: first}})
			require.NoError(t, n.Solve(t.Context(), 0))
			require.NoError(t, n.Verify())
			require.Equal(t, int64(machines-2)*(dear/2), n.Cost())
			n.Remove(last)
			require.NoError(t, n.Solve(t.Context(), 0))
			require.NoError(t, n.Verify())
			require.Equal(t, -int64(machines-1)*(dear/2), n.Cost())
		})
	}
}

// The same by slopes: what a task costs grows and falls with time.
func TestSolve_HoldsTheLargestSlopes(t *testing.T) {
	n := slots.New()
	a, b := n.AddLeaf(slots.Sink), n.AddLeaf(slots.Sink)
	n.SetLeaf(a, 0, 1)
	n.SetLeaf(b, 0, 2)
	const rate, end = 1 << 15, 1 << 28
	for range 2 {
		n.Add([]slots.Option{{Base: -1 << 40, Slope: rate, At: a}, {Base: 1 << 40, Slope: -rate, At: b}})
	}
	for _, now := range []int64{0, end / 64, end} {
		require.NoError(t, n.Solve(t.Context(), now))
		require.NoError(t, n.Verify())
		least := min(2*(1<<40-rate*now), 0)
		require.Equal(t, least, n.Cost())
	}
}

// More than an int64 holds is said to be as much as it holds.
func TestCost_StaysInRange(t *testing.T) {
	for _, cost := range []int64{math.MaxInt64 / 2, math.MinInt64 / 2} {
		n := slots.New()
		v := n.AddLeaf(slots.Sink)
		n.SetLeaf(v, 0, 9)
		for range 2 {
			n.Add([]slots.Option{{Base: cost, At: v}})
		}
		require.NoError(t, n.Solve(t.Context(), 0))
		require.InEpsilon(t, 2*float64(cost), float64(n.Cost()), 1e-9)
		n.Add([]slots.Option{{Base: cost, At: v}})
		require.NoError(t, n.Solve(t.Context(), 0))
		if cost > 0 {
			require.Equal(t, int64(math.MaxInt64), n.Cost())
		} else {
			require.Equal(t, int64(math.MinInt64), n.Cost())
		}
	}
}

// Sums of demands and slots are beyond 32 bits.
func TestSolve_CountsBeyond32Bits(t *testing.T) {
	n := slots.New()
	rack := n.AddGroup(slots.Sink)
	for range 4 {
		n.SetLeaf(n.AddLeaf(rack), 1<<30, 1<<30)
	}
	n.Add([]slots.Option{{At: rack}})
	require.ErrorIs(t, n.Solve(t.Context(), 0), slots.ErrInfeasible)
	for v := range 4 {
		n.SetLeaf(slots.Loc(2+v), 0, 1<<30)
	}
	require.NoError(t, n.Solve(t.Context(), 0))
	require.NoError(t, n.Verify())
}

// A hundred thousand tasks want a machine of a million slots, and all wait for the same.
// Rounds look at each a few times, not at all for each.
func TestSolve_IsFastWhereAllWantTheSame(t *testing.T) {
	const tasks = 100_000
	n := slots.New()
	wide, wait := n.AddLeaf(n.AddGroup(slots.Sink)), n.AddLeaf(slots.Sink)
	n.SetLeaf(wide, 0, 1<<20)
	n.SetLeaf(wait, 0, tasks+1000)
	rng := rand.New(rand.NewPCG(5, 0))
	add := func() {
		n.Add([]slots.Option{{Base: rng.Int64N(1000), At: wide}, {Base: 2000, At: wait}})
	}
	solve := func(most int64) {
		require.NoError(t, n.Solve(t.Context(), 0))
		require.NoError(t, n.Verify())
		looks, arcs := n.Used()
		require.LessOrEqual(t, looks, most*arcs)
	}
	for range tasks {
		add()
	}
	solve(3)
	require.Equal(t, tasks, n.Here(wide))
	for _, slots := range []int{tasks / 2, tasks - 10, tasks, 1 << 20, 0} {
		n.SetLeaf(wide, 0, slots)
		for range 100 {
			add()
		}
		solve(16)
		require.Equal(t, min(n.Live(), slots), n.Here(wide))
	}
}

// All costs are equal, so that nearly every solution is as good: it is the same one
// each time.
func TestSolve_IsDeterministic(t *testing.T) {
	var first []slots.Loc
	for range 3 {
		c := newCell(shapes.Shape{Machines: 90, Slots: 4, Jobs: 7}, 100)
		for _, task := range c.tasks {
			options := c.net.Options(nil, task)
			for i := range options {
				options[i].Base = 5
			}
			c.net.SetOptions(task, options)
		}
		rng := rand.New(rand.NewPCG(1, 1))
		for range 4 {
			require.NoError(t, c.net.Solve(t.Context(), 0))
			require.NoError(t, c.net.Verify())
			c.churn(rng, 100)
		}
		require.NoError(t, c.net.Solve(t.Context(), 0))
		var places []slots.Loc
		for _, task := range c.tasks {
			at, _, _ := c.net.At(task)
			places = append(places, at)
		}
		if first == nil {
			first = places
		}
		require.Equal(t, first, places)
	}
}

// Solves that find no solution, one after the other, do not remember ever more.
func TestTouched_StaysShortWhileThereIsNoSolution(t *testing.T) {
	n := slots.New()
	narrow, wide := n.AddLeaf(slots.Sink), n.AddLeaf(slots.Sink)
	n.SetLeaf(narrow, 0, 1)
	n.SetLeaf(wide, 0, 9)
	for range 2 {
		n.Add([]slots.Option{{At: narrow}})
	}
	for range 1000 {
		task := n.Add([]slots.Option{{At: wide}})
		require.ErrorIs(t, n.Solve(t.Context(), 0), slots.ErrInfeasible)
		n.Remove(task)
	}
	require.Less(t, len(n.Touched()), 20)
}

// Costs beyond the range of a net. It is an error if prices do not hold them; the caller
// that passes it on adds its subject.
func TestSolve_SaysThatPricesPart(t *testing.T) {
	n, first := ladder(9, 1<<59)
	n.Add([]slots.Option{{Base: -1 << 58, At: first}})
	require.EqualError(t, n.Solve(t.Context(), 0), "quincy: prices more than 2^61 apart: out of range")
}

// With more than 2^16 locations, costs must be smaller for prices to hold them.
func TestSolve_RefusesCostsThatPricesOfManyLocationsDoNotHold(t *testing.T) {
	n, first := ladder(1<<17, 1<<20)
	last := n.Add([]slots.Option{{Base: 5, At: first}})
	require.NoError(t, n.Solve(t.Context(), 0))
	require.NoError(t, n.Verify())
	n.SetOptions(last, []slots.Option{{Base: 1 << 40, Slope: 1 << 14, At: first}})
	require.NoError(t, n.Solve(t.Context(), 0))
	require.NoError(t, n.Verify())
	n.SetOptions(last, []slots.Option{{Base: 1 << 40, Slope: -1 << 15, At: first}})
	require.ErrorIs(t, n.Solve(t.Context(), 0), mcf.ErrRange)
}
