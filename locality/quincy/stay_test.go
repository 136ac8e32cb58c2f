package quincy_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// anywhere is a planner of machines of one slot, with tasks that go anywhere for 1.
// A task that stays costs 5, so by its costs all running tasks may as well change
// places.
func anywhere(t *testing.T, machines int) *quincy.Planner[string, string] {
	t.Helper()
	p, err := quincy.New[string](quincy.Config[string]{Verify: true, Arcs: func(arcs []quincy.Arc, _ string, s quincy.State, _ int64) []quincy.Arc {
		if s.Running {
			arcs = append(arcs, quincy.Arc{To: quincy.OnMachine(s.On), Cost: 5})
		}
		return append(arcs, quincy.Arc{To: quincy.Cluster(), Cost: 1}, quincy.Arc{To: quincy.Unscheduled(), Cost: 9})
	}})
	require.NoError(t, err)
	for n := range machines {
		require.NoError(t, p.AddMachine(quincy.Machine{Node: locality.Node(n), Rack: quincy.Rack(n / 2), Slots: 1}))
	}
	require.NoError(t, p.AddJob("j", 0, 9))
	return p
}

// A task that sits at the cluster stays on its machine, as long as one of those
// there goes to it. The order in which tasks and machines were added does not
// matter.
func TestPlan_NoTaskMovesForEqualCost(t *testing.T) {
	const machines = 6
	for first := range machines {
		p := anywhere(t, machines)
		for i := range machines {
			n := (first + 5*i) % machines // down from the first
			require.NoError(t, p.AddRunning(fmt.Sprint(n), "j", locality.Node(n), 0, 0, 0))
		}
		for now := range int64(3) {
			plan, err := p.Plan(t.Context(), now)
			require.NoError(t, err)
			require.Empty(t, plan.Changes)
			require.Equal(t, int64(machines), plan.Cost)
		}
	}
}

// A new task takes a free place, though the planner looks at it before the running
// ones: it has the number of a task that has ended.
func TestPlan_ANewTaskTakesNoPlaceOfARunningOne(t *testing.T) {
	for ends := range 2 {
		p := anywhere(t, 2)
		for n, task := range []string{"a", "b"} {
			require.NoError(t, p.AddRunning(task, "j", locality.Node(n), 0, 0, 0))
		}
		for _, task := range []string{"a", "b"}[:1+ends] {
			_, err := p.Plan(t.Context(), 0)
			require.NoError(t, err)
			on, _ := p.Placed(task)
			require.NoError(t, p.RemoveTask(task))
			require.NoError(t, p.AddTask("next to "+task, "j", 0))
			plan, err := p.Plan(t.Context(), 0)
			require.NoError(t, err)
			require.Equal(t, []quincy.Change[string]{{Action: quincy.Place, Task: "next to " + task, To: on, Cost: 1}}, plan.Changes)
		}
	}
}

// A task that keeps its former arcs has one to where it was placed as well, for
// what it cost to get there.
func TestExplain_WhereNewArcsCannotBe(t *testing.T) {
	bad := false
	p, err := quincy.New[string](quincy.Config[int]{Verify: true, Arcs: func(arcs []quincy.Arc, _ int, s quincy.State, _ int64) []quincy.Arc {
		if bad {
			return arcs
		}
		return append(arcs, quincy.Arc{To: quincy.InRack(2), Cost: 3}, quincy.Arc{To: quincy.Unscheduled(), Cost: 5})
	}})
	require.NoError(t, err)
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 1, Rack: 2, Slots: 1}))
	require.NoError(t, p.AddJob("j", 0, 5))
	require.NoError(t, p.AddTask(1, "j", 0))
	bad = true
	_, err = p.Plan(t.Context(), 0)
	require.ErrorIs(t, err, quincy.ErrArc)
	why, err := p.Explain(1)
	require.NoError(t, err)
	require.Equal(t, `task 1 of job j runs on machine 1; 1 of the job run, want 0 to 5
  rack 2: cost 3, 1 of 1 slots in use; +0 in all, on machine 1
  machine 1: cost 3, 1 of 1 slots in use by 1; it is here
  unscheduled: cost 5, 0 of 1 wait; +2 in all
`, why.String())
}
