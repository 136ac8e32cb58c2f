package quincy_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// A plan costs as much as the best of all ways to put tasks on machines, each tried
// in turn. That is so many steps for the loads, and so much for each move.
func TestArcs_OfTasksThatSpreadAreLeastOverAllLoads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := spreadCosts{Slots: 3, Step: rapid.Int64Range(1, 5).Draw(t, "step"), Move: rapid.Int64Range(0, 9).Draw(t, "move"), Unscheduled: rapid.Int64Range(0, 12).Draw(t, "unscheduled")}
		p, err := quincy.New[string](quincy.Config[int]{Verify: true, Arcs: func(arcs []quincy.Arc, _ int, s quincy.State, now int64) []quincy.Arc {
			return c.Arcs(arcs, s, now)
		}})
		require.NoError(t, err)
		require.NoError(t, p.AddJob("j", 0, 99))
		slots := []int{}
		for n := range rapid.IntRange(1, 3).Draw(t, "machines") {
			slots = append(slots, rapid.IntRange(1, 3).Draw(t, "slots"))
			all, err := c.Machines(locality.Node(n), slots[n])
			require.NoError(t, err)
			for _, m := range all {
				require.NoError(t, p.AddMachine(m))
			}
		}
		on := map[int]int{} // machines of tasks, -1 if they wait
		for round := range 3 {
			for range rapid.IntRange(0, 2).Draw(t, "come") {
				task := 10*round + len(on)
				require.NoError(t, p.AddTask(task, "j", 0))
				on[task] = -1
			}
			var tasks []int
			for task := range 30 {
				if _, ok := on[task]; ok {
					tasks = append(tasks, task)
				}
			}
			best := int64(1 << 60)
			load := make([]int, len(slots))
			var try func(i int, cost int64)
			try = func(i int, cost int64) {
				if i == len(tasks) {
					best = min(best, cost)
					return
				}
				try(i+1, cost+c.Unscheduled)
				for m := range load {
					if load[m] == slots[m] {
						continue
					}
					more := int64(load[m]) * c.Step
					if from := on[tasks[i]]; from >= 0 && from != m {
						more += c.Move
					}
					load[m]++
					try(i+1, cost+more)
					load[m]--
				}
			}
			try(0, 0)
			plan, err := p.Plan(context.Background(), 0)
			require.NoError(t, err)
			require.Equal(t, best, plan.Cost)
			for _, task := range tasks {
				on[task] = -1
				if slot, ok := p.Placed(task); ok {
					on[task] = int(c.Machine(slot))
				}
			}
			if len(tasks) > 0 && rapid.Bool().Draw(t, "end") {
				task := rapid.SampledFrom(tasks).Draw(t, "task")
				require.NoError(t, p.RemoveTask(task))
				delete(on, task)
			}
		}
	})
}

func TestArcs_OfTasksThatSpreadRefuseMachinesThatAreTooLarge(t *testing.T) {
	c := spreadCosts{Slots: 4}
	for _, slots := range []int{0, 5} {
		_, err := c.Machines(1, slots)
		require.ErrorIs(t, err, quincy.ErrRange)
		require.ErrorContains(t, err, "want 1 to 4")
	}
	_, err := c.Machines(1<<30-1, 4)
	require.ErrorContains(t, err, "machine 1073741823 of up to 4 slots, want a number below 1073741823: ")
	all, err := c.Machines(1<<30-2, 4)
	require.NoError(t, err)
	require.Equal(t, quincy.Machine{Node: 1<<32 - 5, Rack: 3, Slots: 1}, all[3])
	require.Equal(t, locality.Node(1<<30-2), c.Machine(all[3].Node))
	_, err = spreadCosts{}.Machines(0, 1)
	require.ErrorIs(t, err, quincy.ErrRange)
}

func TestArcs_OfLinksLeadWhereThereIsRoom(t *testing.T) {
	links := []link{{0, 100, 60}, {1, 100, 10}, {2, 40, 0}, {3, 100, 61}, {4, 100, 10}}
	c := bandwidthCosts{Wait: 2, Unscheduled: 500}
	waits := quincy.State{Since: 3}
	require.Equal(t, []quincy.Arc{
		{To: quincy.Unscheduled(), Cost: 504, Rate: 2},
		{To: quincy.OnMachine(2), Cost: 40},
		{To: quincy.OnMachine(1), Cost: 50},
		{To: quincy.OnMachine(4), Cost: 50},
		{To: quincy.OnMachine(0), Cost: 100},
	}, c.Arcs(nil, 40, links, waits, 5))
	c.Most = 2
	require.Equal(t, []quincy.Arc{
		{To: quincy.Unscheduled(), Cost: 504, Rate: 2},
		{To: quincy.OnMachine(2), Cost: 40},
		{To: quincy.OnMachine(1), Cost: 50},
	}, c.Arcs(nil, 40, links, waits, 5))
	runs := quincy.State{Running: true, On: 3, Since: 3, Waited: 7}
	require.Equal(t, []quincy.Arc{
		{To: quincy.Unscheduled(), Cost: 514},
		{To: quincy.OnMachine(3), Cost: 61},
	}, c.Arcs(nil, 40, links, runs, 5))
	runs.On = 9
	require.Equal(t, quincy.OnMachine(9), c.Arcs(nil, 40, links, runs, 5)[1].To)
}
