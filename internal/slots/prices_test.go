package slots_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/slots"
)

// Prices that have moved far are brought back; where one has stayed behind, as
// nothing leads from it to others, an auction sets all again.
func TestSolve_KeepsPricesSmall(t *testing.T) {
	for name, except := range map[string]slots.Loc{"all": -1, "all but one": 4} {
		t.Run(name, func(t *testing.T) {
			n := slots.New()
			rack := n.AddGroup(slots.Sink)
			v, w := n.AddLeaf(rack), n.AddLeaf(rack)
			n.AddLeaf(slots.Sink) // nothing leads there
			n.SetLeaf(v, 0, 1)
			n.SetLeaf(w, 0, 3)
			add := func() { n.Add([]slots.Option{{Base: 3, At: v}, {Base: 9, At: rack}, {Base: 99, At: w}}) }
			add()
			add()
			require.NoError(t, n.Solve(t.Context(), 0))
			for range 100 {
				n.Shift(-1<<57, except)
				require.NoError(t, n.Solve(t.Context(), 0))
				require.NoError(t, n.Verify())
				require.Less(t, far(n), int64(1)<<52)
			}
			add()
			require.NoError(t, n.Solve(t.Context(), 0))
			require.Equal(t, int64(21), n.Cost())
		})
	}
}

// far returns how far the farthest price is from 0.
func far(n *slots.Net) (far int64) {
	for v := range n.Len() {
		far = max(far, n.Price(slots.Loc(v)), -n.Price(slots.Loc(v)))
	}
	return far
}

// Tasks that sit where they sit, for good, keep their machine's price from being
// tied to others, and rounds without a solution let such prices part by a factor
// each. They do not get out of hand.
func TestSolve_KeepsPricesTogether(t *testing.T) {
	n := slots.New()
	rng := rand.New(rand.NewPCG(1, 6))
	var machines []slots.Loc
	for range 8 {
		v := n.AddLeaf(n.AddGroup(slots.Sink)) // of which no task is called back
		n.SetLeaf(v, 0, 1)
		machines = append(machines, v)
	}
	wait := n.AddLeaf(slots.Sink)
	var waits, sitting []int32
	lost, apart := 0, int64(0)
	for now := range int64(4000) {
		if i := rng.IntN(12); i < len(sitting) {
			n.Remove(sitting[i])
			sitting = slices.Delete(sitting, i, i+1)
		}
		for len(waits)+len(sitting) < 9 {
			options := []slots.Option{{Base: 5000 - 5*now, Slope: 5, At: wait}}
			for _, i := range rng.Perm(7)[:1+rng.IntN(3)] {
				options = append(options, slots.Option{Base: rng.Int64N(1000), At: machines[i]})
			}
			waits = append(waits, n.Add(options))
		}
		n.SetLeaf(wait, 0, 0) // all want a slot at once
		if err := n.Solve(t.Context(), now); err != nil {
			require.ErrorIs(t, err, slots.ErrInfeasible)
			lost++
			n.SetLeaf(wait, 0, 9)
			require.NoError(t, n.Solve(t.Context(), now))
		}
		require.NoError(t, n.Verify())
		apart = max(apart, far(n))
		waits = slices.DeleteFunc(waits, func(task int32) bool {
			at, cost, _ := n.At(task)
			if at == wait {
				return false
			}
			if rng.IntN(12) > 0 {
				n.SetOptions(task, []slots.Option{{Base: cost, At: at}})
			}
			sitting = append(sitting, task)
			return true
		})
		n.Forget()
	}
	require.Greater(t, lost, 1000)
	require.Greater(t, apart, int64(1)<<48, "prices part")
	require.Less(t, apart, int64(1)<<56)
}

// Prices that part too far within a Solve make it begin again with an auction.
func TestSolve_BeginsAgainWhenPricesPart(t *testing.T) {
	n := slots.New()
	var tasks []int32
	for range 3 {
		v := n.AddLeaf(slots.Sink)
		n.SetLeaf(v, 0, 1)
		tasks = append(tasks, n.Add([]slots.Option{{Base: 7, At: v}}))
	}
	require.NoError(t, n.Solve(t.Context(), 0))
	at, _, _ := n.At(tasks[0])
	other, _, _ := n.At(tasks[1])
	n.Stray(at, 3<<60) // both are full, so that it does not matter
	n.Stray(other, 3<<60)
	require.NoError(t, n.Verify())
	n.Remove(tasks[0])
	require.NoError(t, n.Solve(t.Context(), 0))
	require.NoError(t, n.Verify())
	restarts, scalings := n.Fallbacks()
	require.Equal(t, 1, restarts)
	require.Equal(t, 0, scalings)
	require.Less(t, far(n), int64(1)<<52)
}

// A slot that falls free makes another one cheaper for a task that was looked at before.
// The limit noted then is too high, and is not believed.
func TestSolve_ForgetsLimitsWhenPricesFall(t *testing.T) {
	n := slots.New()
	rack := n.AddGroup(slots.Sink)
	leaf := func(size int) slots.Loc {
		v := n.AddLeaf(rack)
		n.SetLeaf(v, 0, size)
		return v
	}
	far, x, y, d := leaf(100), leaf(2), leaf(1), leaf(1)
	add := func(at slots.Loc, cost int64, or slots.Loc, dearer int64) int32 {
		return n.Add([]slots.Option{{Base: cost, At: at}, {Base: dearer, At: or}})
	}
	solve := func() {
		require.NoError(t, n.Solve(t.Context(), 0))
		require.NoError(t, n.Verify())
	}
	var leave []int32
	for _, v := range []slots.Loc{d, d, y, y} {
		leave = append(leave, add(v, 0, far, 100))
	}
	solve()
	add(x, 0, d, -30)
	add(x, 0, y, 50) // sits down first
	solve()
	for _, task := range leave {
		n.Remove(task)
	}
	for range 3 {
		add(x, 0, far, 100)
	}
	solve()
}

// A slot of a full rack falls free. A task takes it that would have gone anywhere in the
// rack but for the price.
func TestSolve_FillsSlotsWithTasksOfTheRack(t *testing.T) {
	n := slots.New()
	rack := n.AddGroup(slots.Sink)
	n.SetLeaf(n.AddLeaf(rack), 0, 1)
	far := n.AddLeaf(n.AddGroup(slots.Sink))
	n.SetLeaf(far, 0, 100)
	add := func(there, elsewhere int64) int32 {
		return n.Add([]slots.Option{{Base: there, At: rack}, {Base: elsewhere, At: far}})
	}
	leave := []int32{add(0, 100), add(0, 100)}
	last := add(-70, 0)
	require.NoError(t, n.Solve(t.Context(), 0))
	require.NoError(t, n.Verify())
	at, _, _ := n.At(last)
	require.Equal(t, far, at)
	for _, task := range leave {
		n.Remove(task)
	}
	require.NoError(t, n.Solve(t.Context(), 0))
	require.NoError(t, n.Verify())
	at, _, _ = n.At(last)
	require.Equal(t, rack, at)
}

// A task that comes finds a free slot by way of another task, and a dearer full machine
// on the way. The machine's price must not fall: another task would want it then.
func TestSolve_FindsTheNearestSlotFirst(t *testing.T) {
	n := slots.New()
	cell := n.AddGroup(slots.Sink)
	leaf := func(parent slots.Loc, size int) slots.Loc {
		v := n.AddLeaf(parent)
		n.SetLeaf(v, 0, size)
		return v
	}
	full := n.AddGroup(slots.Sink)
	leaf(full, 1)
	dear, far, near := leaf(cell, 1), leaf(cell, 50), leaf(cell, 50)
	add := func(a slots.Loc, cost int64, b slots.Loc, other int64) {
		n.Add([]slots.Option{{Base: cost, At: a}, {Base: other, At: b}})
	}
	add(dear, 0, far, 10)
	add(dear, 0, far, 10)
	add(full, 0, near, 1)
	require.NoError(t, n.Solve(t.Context(), 0))
	require.NoError(t, n.Verify())
	require.Equal(t, int64(10), n.Cost())
	add(full, 0, dear, -8)
	require.NoError(t, n.Solve(t.Context(), 0))
	require.NoError(t, n.Verify())
	require.Equal(t, int64(11), n.Cost())
}

func TestVerify_FindsEachFault(t *testing.T) {
	for name, spoil := range slots.Breaks {
		t.Run(name, func(t *testing.T) {
			n := slots.New()
			rack := n.AddGroup(slots.Sink)
			v, w := n.AddLeaf(rack), n.AddLeaf(rack)
			n.SetLeaf(v, 0, 1)
			n.SetLeaf(w, 0, 3)
			task := n.Add([]slots.Option{{Base: 3, Slope: 1, At: v}, {Base: 9, At: w}})
			n.Add([]slots.Option{{Base: 3, Slope: 1, At: v}, {Base: 9, At: rack}})
			require.NoError(t, n.Solve(context.Background(), 0))
			require.NoError(t, n.Verify())
			spoil(n, task, v)
			require.ErrorIs(t, n.Verify(), slots.ErrNotOptimal)
		})
	}
}
