package quincy_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// ties is a cell in which many plans cost the same.
type ties struct {
	machines [][]int64 // by task, what each machine costs: 0, 10 or 20
	tasks    []int     // that are there
	next     int
}

// arcs costs so much for each unit of cost, and so much more for a task that does
// not stay where it runs.
func (c *ties) arcs(scale, move int64) func([]quincy.Arc, int, quincy.State, int64) []quincy.Arc {
	return func(arcs []quincy.Arc, n int, s quincy.State, _ int64) []quincy.Arc {
		more := int64(0)
		if s.Running {
			more = move
		}
		arcs = append(arcs, quincy.Arc{To: quincy.Unscheduled(), Cost: 100*scale + more}, quincy.Arc{To: quincy.Cluster(), Cost: 20*scale + more})
		for m, cost := range c.machines[n] {
			switch to := quincy.OnMachine(locality.Node(m)); {
			case s.Running && s.On == locality.Node(m):
				arcs = append(arcs, quincy.Arc{To: to, Cost: cost * scale})
			case cost < 20:
				arcs = append(arcs, quincy.Arc{To: to, Cost: cost*scale + more})
			}
		}
		return arcs
	}
}

func (c *ties) planner(t *testing.T, scale, move int64) *quincy.Planner[int, int] {
	t.Helper()
	p, err := quincy.New[int](quincy.Config[int]{Arcs: c.arcs(scale, move), Verify: true})
	require.NoError(t, err)
	for m := range 6 {
		require.NoError(t, p.AddMachine(quincy.Machine{Node: locality.Node(m), Rack: quincy.Rack(m / 3), Slots: 3}))
	}
	require.NoError(t, p.AddJob(0, 0, 99))
	return p
}

// change lets tasks end and come.
func (c *ties) change(t *testing.T, p *quincy.Planner[int, int], rng *rand.Rand) {
	t.Helper()
	for range min(rng.IntN(4), len(c.tasks)) {
		i := rng.IntN(len(c.tasks))
		require.NoError(t, p.RemoveTask(c.tasks[i]))
		c.tasks = slices.Delete(c.tasks, i, i+1)
	}
	for range rng.IntN(5) {
		costs := make([]int64, 6)
		for m := range costs {
			costs[m] = []int64{0, 10, 20, 20}[rng.IntN(4)]
		}
		c.machines = append(c.machines, costs)
		require.NoError(t, p.AddTask(c.next, 0, 0))
		c.tasks = append(c.tasks, c.next)
		c.next++
	}
}

// leavers returns how many tasks a plan moves or preempts.
func leavers(p quincy.Plan[int]) (n int) {
	for _, c := range p.Changes {
		if c.Action != quincy.Place {
			n++
		}
	}
	return n
}

// Among plans of equal cost, planners take one that lets nearly as many tasks stay
// as possible. The fewest tasks that have to go are those of a planner with a small
// cost for each that goes.
func TestPlan_TasksStayWhereThatCostsTheSame(t *testing.T) {
	gone, least := 0, 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		c := &ties{}
		p := c.planner(t, 1, 0)
		for range 40 {
			c.change(t, p, rng)
			o := c.planner(t, 64, 1)
			for _, n := range c.tasks {
				if at, ok := p.Placed(n); ok {
					require.NoError(t, o.AddRunning(n, 0, at, 0, 0, 0))
				} else {
					require.NoError(t, o.AddTask(n, 0, 0))
				}
			}
			best, err := o.Plan(context.Background(), 0)
			require.NoError(t, err)
			plan, err := p.Plan(context.Background(), 0)
			require.NoError(t, err)
			require.Equal(t, best.Cost/64, plan.Cost)
			require.GreaterOrEqual(t, leavers(plan), leavers(best))
			gone += leavers(plan)
			least += leavers(best)
		}
	}
	t.Log(gone, "tasks are moved or preempted,", least, "at least")
	require.LessOrEqual(t, gone*100, least*110)
}
