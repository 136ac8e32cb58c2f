package flow_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/flow"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

func TestStats_CountRoundsAndTellOfTasks(t *testing.T) {
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{1}}}})
	require.NoError(t, err)
	ours, err := cell.Register("ours", omega.Limits{})
	require.NoError(t, err)
	var stream observe.Stream
	told := stream.Subscribe(10)
	costs := quincy.DataCosts{Core: 20, Rack: 10, Wait: 1, Work: 1, Unscheduled: 100}
	input := []quincy.Block{{Bytes: 1 << 30, Nodes: []locality.Node{0}}}
	s, err := flow.New[string](flow.Config[string]{
		Cell: cell, Scheduler: ours, Slot: resources.Vector{1}, Events: &stream,
		Arcs: func(arcs []quincy.Arc, _ string, state quincy.State, now int64) []quincy.Arc {
			return costs.Arcs(arcs, input, state, now)
		},
	})
	require.NoError(t, err)
	var none observe.Counts
	none.Counted.Commits = true
	require.Equal(t, none, s.Stats())
	start := time.Unix(50, 0)
	require.NoError(t, s.AddJob("job", 0, 2))
	require.NoError(t, s.Add("a", flow.Task[string]{Job: "job", Need: resources.Vector{1}}, start))
	require.NoError(t, s.Add("b", flow.Task[string]{Job: "job", Need: resources.Vector{1}}, start))
	now := start.Add(4 * time.Second)
	r, err := s.Round(t.Context(), now)
	require.NoError(t, err)
	require.Len(t, r.Start, 1)
	c := s.Stats()
	require.EqualValues(t, 1, c.Commits)
	require.EqualValues(t, 1, c.Granted)
	require.Equal(t, 1, c.Waiting)
	require.EqualValues(t, 1, c.Placed.Count())
	require.Equal(t, 4*time.Second, c.Waited.Sum)
	told.Close()
	require.Equal(t, observe.Event{
		Kind: observe.Granted, At: now, Source: "flow", Label: r.Start[0].Task, Machine: "m", Need: resources.Vector{1},
	}, <-told.Events())
	require.Equal(t, observe.Event{Kind: observe.Round, At: now, Source: "flow", Label: "ours", Count: 1}, <-told.Events())
}
