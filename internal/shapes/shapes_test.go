package shapes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/shapes"
)

func TestFill_IsTheSameForASeed(t *testing.T) {
	first, second := shapes.New(shapes.A(), 1), shapes.New(shapes.A(), 1)
	require.Equal(t, first.Fill(90), second.Fill(90))
	require.NotEqual(t, shapes.New(shapes.A(), 2).Fill(90), shapes.New(shapes.A(), 1).Fill(90))
}

func TestFill_HasTheArcsOfTheModel(t *testing.T) {
	c := shapes.New(shapes.A(), 1)
	tasks := c.Fill(150)
	require.Len(t, tasks, 3000)
	arcs, used, running := 0, make([]int, c.Machines), 0
	for _, task := range tasks {
		arcs += len(task.Arcs)
		require.Equal(t, shapes.Arc{Kind: shapes.Unscheduled, At: task.Job, Cost: task.Arcs[0].Cost}, task.Arcs[0])
		last := task.Arcs[len(task.Arcs)-1]
		require.Equal(t, shapes.Cluster, last.Kind)
		require.Greater(t, task.Arcs[0].Cost, last.Cost, "waiting is dearer than any place")
		seen := map[shapes.Arc]bool{}
		for _, a := range task.Arcs {
			require.False(t, seen[shapes.Arc{Kind: a.Kind, At: a.At}], "two arcs to one place")
			seen[shapes.Arc{Kind: a.Kind, At: a.At}] = true
			require.LessOrEqual(t, min(a.Cost, 0), last.Cost)
		}
		if a := task.Arcs[1]; a.Kind == shapes.Machine && a.Cost < 0 {
			used[a.At]++
			running++
		}
	}
	require.InDelta(t, 7.2, float64(arcs)/float64(len(tasks)), 0.7)
	require.Greater(t, running, 1200, "most that can run do")
	for m, n := range used {
		require.LessOrEqual(t, n, c.Slots, "machine %d", m)
	}
}

func TestShares_AreMaxMinFair(t *testing.T) {
	low, top := shapes.Shares([]int{10, 1, 4, 0}, 9)
	require.Equal(t, []int{4, 1, 4, 0}, top)
	require.Equal(t, []int{2, 0, 2, 0}, low)
	_, top = shapes.Shares([]int{3, 3}, 100)
	require.Equal(t, []int{3, 3}, top)
}

// All tasks of a hot cell prefer 1 % of the machines, and no cell draws two arcs to
// one machine.
func TestGrids_DrawTheNamedShapes(t *testing.T) {
	names := map[string]bool{}
	for _, g := range shapes.Grids() {
		names[g.String()] = true
		g.Machines = 300
		d := g.Draw(1)
		require.Len(t, d.Slots, 300)
		preferred := map[int]bool{}
		for range 100 {
			task := d.Task()
			require.Equal(t, shapes.Unscheduled, task.Arcs[0].Kind)
			require.Equal(t, shapes.Cluster, task.Arcs[len(task.Arcs)-1].Kind)
			own := map[int]bool{}
			for _, a := range task.Arcs {
				if a.Kind == shapes.Machine {
					require.False(t, own[a.At])
					own[a.At], preferred[a.At] = true, true
				}
			}
			require.LessOrEqual(t, len(own), g.Preferred)
			require.Less(t, d.Stay(task, 7), task.Arcs[0].Cost)
		}
		require.Equal(t, g.Hot, g.Preferred > 0 && len(preferred) <= 3)
	}
	require.Len(t, names, 2*4*2*2*2*(1+2*2))
}
