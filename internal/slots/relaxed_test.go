package slots_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/internal/shapes"
	"github.com/cellsched/cellsched/internal/slots"
)

// A problem without a solution has none after any changes that Relaxed does not count.
func TestRelaxed_CountsAllThatGivesASolution(t *testing.T) {
	var same, solved int
	rapid.Check(t, func(t *rapid.T) {
		n := slots.New()
		group := n.AddGroup(slots.Sink)
		spots := []slots.Loc{group}
		var leaves []slots.Loc
		leaf := func() {
			v := n.AddLeaf(rapid.SampledFrom([]slots.Loc{slots.Sink, group}).Draw(t, "parent"))
			leaves, spots = append(leaves, v), append(spots, v)
		}
		leaf()
		leaf()
		options := func() []slots.Option {
			at := rapid.SliceOfNDistinct(rapid.SampledFrom(spots), 1, 3, rapid.ID).Draw(t, "options")
			all := make([]slots.Option, len(at))
			for i, v := range at {
				all[i] = slots.Option{Base: rapid.Int64Range(0, 5).Draw(t, "cost"), At: v}
			}
			return all
		}
		var tasks []int32
		refused, infeasible := int64(0), false
		t.Repeat(map[string]func(*rapid.T){
			"leaf": func(*rapid.T) { leaf() },
			"bounds": func(t *rapid.T) {
				n.SetLeaf(rapid.SampledFrom(leaves).Draw(t, "leaf"), rapid.IntRange(0, 2).Draw(t, "keeps"), rapid.IntRange(0, 2).Draw(t, "slots"))
			},
			"add": func(*rapid.T) { tasks = append(tasks, n.Add(options())) },
			"options": func(t *rapid.T) {
				if len(tasks) > 0 {
					n.SetOptions(rapid.SampledFrom(tasks).Draw(t, "task"), options())
				}
			},
			"remove": func(*rapid.T) {
				if last := len(tasks) - 1; last >= 0 {
					n.Remove(tasks[last])
					tasks = tasks[:last]
				}
			},
			"": func(t *rapid.T) {
				_, oracle := n.Graph(0).Solve(t.Context())
				if infeasible && n.Relaxed() == refused {
					same++
					require.Error(t, oracle)
				}
				err := n.Solve(t.Context(), 0)
				require.Equal(t, oracle != nil, err != nil)
				if infeasible, refused = err != nil, n.Relaxed(); !infeasible {
					solved++
				}
			},
		})
	})
	require.Positive(t, same)
	require.Positive(t, solved)
}

// A round in which nothing has changed looks at no arc.
func TestSolve_LooksAtNothingWhereNothingChanged(t *testing.T) {
	for _, g := range shapes.Grids() {
		if g.Machines > 2_500 || g.Percent == 300 && (g.Uneven || g.Preferred == 20) {
			continue
		}
		g.Machines, g.Jobs = 100, 5+g.Jobs/20
		c := newGrid(g)
		require.NoError(t, c.net.Solve(t.Context(), 0), g)
		c.net.Forget()
		require.NoError(t, c.net.Solve(t.Context(), 0), g)
		looks, _ := c.net.Used()
		require.Zero(t, looks, g)
	}
}
