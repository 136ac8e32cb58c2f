package slots_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/shapes"
	"github.com/cellsched/cellsched/internal/slots"
)

// worst is an assignment in which the cost of task i on machine j is i × j. Of all
// matrices it is one of the hardest for shortest paths: most of the placed tasks have to
// move for each that comes.
func worst(size int) *slots.Net {
	n := slots.New()
	locs := make([]slots.Loc, size)
	for i := range locs {
		locs[i] = n.AddLeaf(slots.Sink)
		n.SetLeaf(locs[i], 0, 1)
	}
	options := make([]slots.Option, size)
	for i := range int64(size) {
		for j := range options {
			options[j] = slots.Option{Base: (i + 1) * int64(j+1), At: locs[j]}
		}
		n.Add(options)
	}
	return n
}

func TestSolve_IsLeftToCostScalingWhenItTakesTooLong(t *testing.T) {
	n := worst(100)
	require.NoError(t, n.Solve(t.Context(), 0))
	require.NoError(t, n.Verify())
	restarts, scalings := n.Fallbacks()
	require.Equal(t, 0, restarts)
	require.Equal(t, 1, scalings)
	want, err := n.Graph(0).Solve(t.Context())
	require.NoError(t, err)
	require.Equal(t, want.Cost, n.Cost())
}

func TestSolve_BeginsAgainWhenARoundTakesTooLong(t *testing.T) {
	c := newCell(shapes.Shape{Machines: 90, Slots: 4, Jobs: 7}, 100)
	c.net.SetLooks(1, 1000, 64)
	require.NoError(t, c.net.Solve(t.Context(), 0))
	c.churn(rand.New(rand.NewPCG(1, 1)), 100)
	require.NoError(t, c.net.Solve(t.Context(), 0))
	require.NoError(t, c.net.Verify())
	restarts, scalings := c.net.Fallbacks()
	require.Equal(t, 1, restarts)
	require.Equal(t, 0, scalings)
	want, err := c.net.Graph(0).Solve(t.Context())
	require.NoError(t, err)
	require.Equal(t, want.Cost, c.net.Cost())
}

// Cost scaling may leave a full rack dearer than its only machine. All else relies on it
// not being so, so its prices are asked for as if there was more room.
func TestSolve_TakesOverPricesOfFullRacks(t *testing.T) {
	n := slots.New()
	rack, far := n.AddGroup(slots.Sink), n.AddLeaf(slots.Sink)
	n.SetLeaf(n.AddLeaf(rack), 0, 1)
	n.SetLeaf(far, 0, 9)
	n.SetLooks(0, 0, 1)
	for range 5 {
		n.Add([]slots.Option{{Base: 0, At: rack}, {Base: 100, At: far}})
		require.NoError(t, n.Solve(t.Context(), 0))
		require.NoError(t, n.Verify())
	}
	_, scalings := n.Fallbacks()
	require.Positive(t, scalings)
}

// Costs beyond what cost scaling takes are left to the shortest paths after all.
func TestSolve_GoesOnWhereCostScalingCannot(t *testing.T) {
	n, first := ladder(1<<14, 1<<45)
	n.SetLooks(0, 0, 64)
	n.Add([]slots.Option{{Base: 1, At: first}})
	require.NoError(t, n.Solve(t.Context(), 0))
	require.NoError(t, n.Verify())
}
