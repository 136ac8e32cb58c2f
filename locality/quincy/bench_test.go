package quincy_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/cputime"
	"github.com/cellsched/cellsched/bench/mcf/shapes"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// cell is a planner full of tasks with data on its machines.
type cell struct {
	p      *quincy.Planner[int, int]
	shape  shapes.Shape
	rng    *rand.Rand
	inputs map[int][]quincy.Block
	tasks  []int
	next   int
	asked  int
}

func newCell(b *testing.B, shape shapes.Shape, percent int) *cell {
	b.Helper()
	c := &cell{shape: shape, rng: rand.New(rand.NewPCG(1, 2)), inputs: map[int][]quincy.Block{}}
	costs := quincy.DataCosts{Core: 20, Rack: 10, Wait: 5, Work: 10, Unscheduled: 2000}
	p, err := quincy.New[int](quincy.Config[int]{Arcs: func(arcs []quincy.Arc, task int, s quincy.State, now int64) []quincy.Arc {
		c.asked++
		return costs.Arcs(arcs, c.inputs[task], s, now)
	}})
	require.NoError(b, err)
	c.p = p
	for n := range shape.Machines {
		require.NoError(b, p.AddMachine(quincy.Machine{Node: locality.Node(n), Rack: quincy.Rack(n / 40), Slots: shape.Slots}))
	}
	tasks := shape.Machines * shape.Slots * percent / 100
	each := tasks/shape.Jobs + 1
	for j := range shape.Jobs {
		require.NoError(b, p.AddJob(j, each/2, 2*each))
	}
	for range tasks {
		c.add(b, 0)
	}
	return c
}

// add adds a task with a file or two of up to 16 GB, each in three copies, two of
// them in one rack.
func (c *cell) add(b *testing.B, now int64) {
	b.Helper()
	var in []quincy.Block
	for range 1 + c.rng.IntN(5)/3 {
		first, second := c.rng.IntN(c.shape.Machines), c.rng.IntN(c.shape.Machines)
		third := min(second/40*40+c.rng.IntN(40), c.shape.Machines-1)
		in = append(in, quincy.Block{Bytes: int64(64<<20) << c.rng.IntN(9), Nodes: []locality.Node{locality.Node(first), locality.Node(second), locality.Node(third)}})
	}
	task := c.next
	c.next++
	c.inputs[task] = in
	require.NoError(b, c.p.AddTask(task, c.rng.IntN(c.shape.Jobs), now))
	c.tasks = append(c.tasks, task)
}

// churn ends one of a hundred tasks and adds as many.
func (c *cell) churn(b *testing.B, now int64) {
	b.Helper()
	for range len(c.tasks) / 100 {
		i := c.rng.IntN(len(c.tasks))
		last := len(c.tasks) - 1
		require.NoError(b, c.p.RemoveTask(c.tasks[i]))
		delete(c.inputs, c.tasks[i])
		c.tasks[i] = c.tasks[last]
		c.tasks = c.tasks[:last]
		c.add(b, now)
	}
}

// Whole rounds: 1 % of the tasks end, as many come, and a plan is made, with all
// that Arcs is asked for. plan-ms is CPU time of Plan, changes-ms that of what
// comes before. With step=5 time passes between rounds, so that the costs of all
// tasks change.
func BenchmarkPlan(b *testing.B) {
	for _, shape := range []shapes.Shape{shapes.A(), shapes.B(), shapes.C()} {
		for _, step := range []int64{0, 5} {
			b.Run(fmt.Sprintf("shape=%s/step=%d", shapes.Name(shape, 90), step), func(b *testing.B) {
				if testing.Short() && shape == shapes.C() {
					b.Skip("too long")
				}
				c := newCell(b, shape, 90)
				_, err := c.p.Plan(b.Context(), 0)
				require.NoError(b, err)
				c.asked = 0
				now, rounds := int64(0), 0
				var changes, plan time.Duration
				for b.Loop() {
					now += step
					began := cputime.Used()
					c.churn(b, now)
					between := cputime.Used()
					_, err := c.p.Plan(b.Context(), now)
					changes, plan = changes+between-began, plan+cputime.Used()-between
					require.NoError(b, err)
					rounds++
				}
				b.ReportMetric(float64(changes)/1e6/float64(rounds), "changes-ms/op")
				b.ReportMetric(float64(plan)/1e6/float64(rounds), "plan-ms/op")
				b.ReportMetric(float64(c.asked)/float64(rounds), "asked/op")
			})
		}
	}
}
