package quincy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// Costs that grow with time are looked up, not asked for. Eight tasks wait for the
// only slot near their data: 40 for the switch is more than 10 + 3 for each unit of
// time, until at 11 it is not.
func TestPlan_TimeThatPassesAsksForNothing(t *testing.T) {
	asked := 0
	costs := quincy.DataCosts{Core: 40, Rack: 40, Wait: 3, Work: 9, Unscheduled: 10}
	in := []quincy.Block{{Bytes: gigabyte, Nodes: []locality.Node{0}}}
	p, err := quincy.New[string](quincy.Config[int]{Verify: true, Arcs: func(arcs []quincy.Arc, _ int, s quincy.State, now int64) []quincy.Arc {
		asked++
		return costs.Arcs(arcs, in, s, now)
	}})
	require.NoError(t, err)
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 0, Slots: 1}))
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 1, Slots: 3}))
	require.NoError(t, p.AddJob("j", 0, 9))
	for task := range 9 {
		require.NoError(t, p.AddTask(task, "j", 0))
	}
	for now := range int64(10) {
		plan, err := p.Plan(t.Context(), now)
		require.NoError(t, err)
		require.Equal(t, 8, plan.Waiting)
		require.Equal(t, 8*(10+3*now)-9*now, plan.Cost)
		require.Equal(t, 10, asked, "9 that came, and the one that was placed")
		for _, cost := range p.Waiting() {
			require.Equal(t, 10+3*now, cost)
		}
	}
	plan, err := p.Plan(t.Context(), 11)
	require.NoError(t, err)
	require.Len(t, plan.Changes, 3)
	require.Equal(t, 5, plan.Waiting)
	require.Equal(t, int64(3*40+5*(10+3*11)-9*11), plan.Cost)
	require.Equal(t, 13, asked)
}
