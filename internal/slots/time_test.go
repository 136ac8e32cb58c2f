package slots_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/slots"
)

// Tasks that run lose work if they stop, more with time, and those that wait wait
// ever longer. When nothing but time passes, the first are not looked at.
func TestSolve_LooksOnlyAtGrowingCosts(t *testing.T) {
	const run, wait = 2000, 30
	n := slots.New()
	machine, queue := n.AddLeaf(n.AddGroup(slots.Sink)), n.AddLeaf(slots.Sink)
	n.SetLeaf(machine, 0, run)
	n.SetLeaf(queue, 0, wait)
	for range run {
		n.Add([]slots.Option{{Base: 10, Slope: -3, At: machine}, {Base: 100_000, At: queue}})
	}
	for range wait {
		n.Add([]slots.Option{{Base: 70_000, At: machine}, {Base: 70_000, Slope: 2, At: queue}})
	}
	for now := range int64(9) {
		require.NoError(t, n.Solve(t.Context(), 5*now))
		require.NoError(t, n.Verify())
		require.Equal(t, run*(10-15*now)+wait*(70_000+10*now), n.Cost())
		if looks, _ := n.Used(); now > 1 {
			require.LessOrEqual(t, looks, int64(3*wait))
		}
	}
}

// Nothing but time makes a task move, and time that goes back makes it return.
func TestSolve_MovesForTime(t *testing.T) {
	n := slots.New()
	a, b := n.AddLeaf(slots.Sink), n.AddLeaf(slots.Sink)
	n.SetLeaf(a, 0, 1)
	n.SetLeaf(b, 0, 1)
	task := n.Add([]slots.Option{{Slope: 2, At: a}, {Base: 15, Slope: 1, At: b}})
	for _, step := range []struct {
		now, cost int64
		at        slots.Loc
	}{{0, 0, a}, {10, 20, a}, {14, 28, a}, {16, 31, b}, {20, 35, b}, {30, 45, b}, {3, 6, a}, {40, 55, b}} {
		require.NoError(t, n.Solve(t.Context(), step.now))
		require.NoError(t, n.Verify())
		at, cost, _ := n.At(task)
		require.Equal(t, step.at, at, "at %d", step.now)
		require.Equal(t, step.cost, cost, "at %d", step.now)
		require.Equal(t, step.cost, n.Cost(), "at %d", step.now)
	}
}

// A Solve that runs out of looks before it has come to all tasks with grown costs does
// not take the others as they were.
func TestSolve_ForgetsNoTaskWhenTheWorkBudgetRunsOut(t *testing.T) {
	n := slots.New()
	a, b := n.AddLeaf(slots.Sink), n.AddLeaf(slots.Sink)
	n.SetLeaf(a, 0, 2)
	n.SetLeaf(b, 0, 2)
	for _, dear := range []int64{1000, 15} {
		n.Add([]slots.Option{{Slope: 2, At: a}, {Base: dear, Slope: 1, At: b}})
	}
	require.NoError(t, n.Solve(t.Context(), 0))
	n.SetLooks(0, 1000, 1)
	require.NoError(t, n.Solve(t.Context(), 20))
	require.NoError(t, n.Verify())
	require.Equal(t, int64(40+35), n.Cost())
}
