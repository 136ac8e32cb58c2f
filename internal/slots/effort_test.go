package slots_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/shapes"
	"github.com/cellsched/cellsched/internal/slots"
)

// shares returns for each shape of the matrix what a round takes in which so many of a
// thousand tasks change, as a share of the first Solve: the median of three rounds, each
// proved optimal. It counts arcs looked at, which depends on no load.
func shares(tb testing.TB, machines, perMille int) (sorted []float64) {
	tb.Helper()
	for _, g := range shapes.Grids() {
		if g.Machines > 2_500 {
			continue
		}
		g.Machines, g.Jobs = machines, max(5, g.Jobs*machines/2_500)
		c := newGrid(g)
		err := c.net.Solve(tb.Context(), 0)
		if errors.Is(err, slots.ErrInfeasible) {
			continue
		}
		require.NoError(tb, err, g)
		cold, _ := c.net.Used()
		var rounds []float64
		for range 3 {
			c.ground()
			c.churn(perMille)
			require.NoError(tb, c.net.Solve(tb.Context(), 0), g)
			require.NoError(tb, c.net.Verify(), g)
			looks, _ := c.net.Used()
			rounds = append(rounds, float64(looks)/float64(cold))
		}
		slices.Sort(rounds)
		sorted = append(sorted, rounds[1])
	}
	slices.Sort(sorted)
	return sorted
}

// On no shape does a round in which few tasks change take as much as to begin afresh,
// and most take a small share of that.
func TestSolve_TakesAShareOfAFreshStartForASmallRound(t *testing.T) {
	all := shares(t, 120, 10)
	n := len(all)
	require.Greater(t, n, 100)
	t.Logf("of %d shapes: median %.2f, nine of ten %.2f, largest %.2f", n, all[n/2], all[n*9/10], all[n-1])
	require.LessOrEqual(t, all[n/2], 0.21)
	require.LessOrEqual(t, all[n*9/10], 0.42)
	require.LessOrEqual(t, all[n-1], 0.75)
}

// A plan asks the tasks that it has placed for their options again. The next round looks at
// none of them, as they are better off where they are than before.
func TestSolve_LooksAtNoTaskThatOnlyLikesItsPlaceMore(t *testing.T) {
	for _, percent := range []int{90, 100, 150} {
		c := newGrid(shapes.Grid{Machines: 120, Percent: percent, Jobs: 12, Preferred: 6, Distinct: true, Uneven: true})
		require.NoError(t, c.net.Solve(t.Context(), 0))
		c.ground()
		require.NoError(t, c.net.Solve(t.Context(), 0))
		require.NoError(t, c.net.Verify())
		looks, _ := c.net.Used()
		require.Zero(t, looks)
	}
}

// The shares are of arcs looked at: the median over the shapes, the ninth of ten, and the
// largest.
func BenchmarkSolve_Shares(b *testing.B) {
	for _, machines := range []int{600, 1_200} {
		for _, perMille := range []int{1, 10, 50, 300} {
			b.Run(fmt.Sprintf("machines=%d/permille=%d", machines, perMille), func(b *testing.B) {
				var all []float64
				for b.Loop() {
					all = shares(b, machines, perMille)
				}
				b.ReportMetric(all[len(all)/2], "median")
				b.ReportMetric(all[len(all)*9/10], "nine-of-ten")
				b.ReportMetric(all[len(all)-1], "largest")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
