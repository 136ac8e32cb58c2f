package slots_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/internal/shapes"
	"github.com/cellsched/cellsched/internal/slots"
)

// Where the share of a job falls, so many of its tasks wait as cost the least, and where
// another one grows, they take the slots: by a look at the tasks of these jobs.
func TestSolve_FollowsSharesWithoutASearch(t *testing.T) {
	c := newGrid(shapes.Grid{Machines: 100, Percent: 300, Jobs: 100, Distinct: true})
	_, top := shapes.Shares(c.count, c.All)
	for j, most := range top {
		c.net.SetLeaf(c.jobs[j], c.count[j]-most, 0)
	}
	require.NoError(t, c.net.Solve(t.Context(), 0))
	c.ground()
	require.NoError(t, c.net.Solve(t.Context(), 0))
	for round := range 10 {
		for j, more := range map[int]int{2 * round: -1, 2*round + 1: 1} {
			c.net.SetLeaf(c.jobs[j], c.count[j]-top[j]-more, 0)
		}
		require.NoError(t, c.net.Solve(t.Context(), 0))
		require.NoError(t, c.net.Verify())
		looks, arcs := c.net.Used()
		require.LessOrEqual(t, looks, arcs/8, "round %d", round)
	}
}

// Leaves keep more or fewer units than before, and pass more or fewer on, so that tasks
// are called back at prices above and below that of the sink.
func TestSolve_CallsTasksBackAtAnyPrice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := slots.New()
		group := n.AddGroup(slots.Sink)
		spots, leaves := []slots.Loc{group}, []slots.Loc{}
		for i := range rapid.IntRange(2, 6).Draw(t, "leaves") {
			parent := slots.Sink
			if i%3 == 0 {
				parent = group
			}
			v := n.AddLeaf(parent)
			spots, leaves = append(spots, v), append(leaves, v)
		}
		costs := rapid.Int64Range(-9, 9)
		if rapid.Bool().Draw(t, "fine") {
			costs = rapid.Int64Range(-1<<30, 1<<30)
		}
		for range rapid.IntRange(1, 12).Draw(t, "tasks") {
			picked := rapid.SliceOfNDistinct(rapid.SampledFrom(spots), 1, 4, rapid.ID).Draw(t, "options")
			options := make([]slots.Option, len(picked))
			for i, v := range picked {
				options[i] = slots.Option{Base: costs.Draw(t, "cost"), At: v}
			}
			n.Add(options)
		}
		for range 6 {
			for _, v := range leaves {
				n.SetLeaf(v, rapid.IntRange(0, 3).Draw(t, "keeps"), rapid.IntRange(0, 4).Draw(t, "slots"))
			}
			err := n.Solve(t.Context(), 0)
			want, oracle := n.Graph(0).Solve(t.Context())
			if oracle != nil {
				require.ErrorIs(t, err, slots.ErrInfeasible)
				continue
			}
			require.NoError(t, err)
			require.NoError(t, n.Verify())
			require.Equal(t, want.Cost, n.Cost())
		}
	})
}
