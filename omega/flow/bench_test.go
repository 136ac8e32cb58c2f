package flow_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/cputime"
	"github.com/cellsched/cellsched/internal/shapes"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/flow"
	"github.com/cellsched/cellsched/resources"
)

// churn is a cell of a shape, full to so many percent. In each round 1 % of the tasks end
// and as many come: once through a flow scheduler, once through a planner alone.
type churn struct {
	*shapes.Cell
	cell    *omega.Cell
	s       *flow.Scheduler[int, int]
	planner *quincy.Planner[int, int]
	arcs    map[int][]shapes.Arc
	jobs    map[int]int
	tasks   []int
	next    int
	rng     *rand.Rand
	now     time.Time
}

func newChurn(b *testing.B, shape shapes.Shape, percent int) *churn {
	b.Helper()
	c := &churn{Cell: shapes.New(shape, 1), arcs: map[int][]shapes.Arc{}, jobs: map[int]int{}, rng: rand.New(rand.NewPCG(1, 2)), now: start}
	var err error
	c.cell, err = omega.NewCell(omega.Config{})
	require.NoError(b, err)
	for m := range shape.Machines {
		_, err := c.cell.Add(omega.Machine{Name: fmt.Sprint(m), Capacity: resources.Vector{int64(shape.Slots)}})
		require.NoError(b, err)
	}
	ours, err := c.cell.Register("flow", omega.Limits{})
	require.NoError(b, err)
	c.s, err = flow.New[int](flow.Config[int]{
		Cell: c.cell, Scheduler: ours, Slot: resources.Vector{1}, Arcs: c.of,
		Rack: func(m omega.MachineState) quincy.Rack { return quincy.Rack(c.RackOf[m.ID.Node()]) },
	})
	require.NoError(b, err)
	c.planner, err = quincy.New[int](quincy.Config[int]{Arcs: c.of})
	require.NoError(b, err)
	for m, rack := range c.RackOf {
		require.NoError(b, c.planner.AddMachine(quincy.Machine{Node: locality.Node(m), Rack: quincy.Rack(rack), Slots: shape.Slots}))
	}
	for j := range shape.Jobs {
		require.NoError(b, c.s.AddJob(j, 0, quincy.MaxSlots))
		require.NoError(b, c.planner.AddJob(j, 0, quincy.MaxSlots))
	}
	for _, t := range c.Fill(percent) {
		c.add(b, t)
	}
	return c
}

// of are the arcs of a task, and one more where it runs, which is worth ten
// seconds of work.
func (c *churn) of(arcs []quincy.Arc, t int, state quincy.State, _ int64) []quincy.Arc {
	here := quincy.OnMachine(state.On)
	if state.Running {
		arcs = append(arcs, quincy.Arc{To: here, Cost: -100})
	}
	for _, a := range c.arcs[t] {
		out := quincy.Arc{Cost: a.Cost}
		switch a.Kind {
		case shapes.Cluster:
			out.To = quincy.Cluster()
		case shapes.Rack:
			out.To = quincy.InRack(quincy.Rack(a.At))
		case shapes.Machine:
			out.To = quincy.OnMachine(locality.Node(a.At))
		case shapes.Unscheduled:
			out.To = quincy.Unscheduled()
		}
		if !state.Running || out.To != here {
			arcs = append(arcs, out)
		}
	}
	return arcs
}

func (c *churn) add(b *testing.B, t shapes.Task) {
	b.Helper()
	c.arcs[c.next], c.jobs[c.next] = t.Arcs, t.Job
	require.NoError(b, c.s.Add(c.next, flow.Task[int]{Job: t.Job, Need: resources.Vector{1}}, c.now))
	require.NoError(b, c.planner.AddTask(c.next, t.Job, 0))
	c.tasks = append(c.tasks, c.next)
	c.next++
}

func (c *churn) change(b *testing.B) {
	b.Helper()
	for range len(c.tasks) / 100 {
		i, last := c.rng.IntN(len(c.tasks)), len(c.tasks)-1
		t := c.tasks[i]
		require.NoError(b, c.s.Done(t))
		require.NoError(b, c.planner.RemoveTask(t))
		delete(c.arcs, t)
		c.tasks[i], c.tasks = c.tasks[last], c.tasks[:last]
		c.add(b, c.Task(false))
	}
}

// round is a round of the scheduler, and of what it tells to stop.
func (c *churn) round(b *testing.B) {
	b.Helper()
	r, err := c.s.Round(context.Background(), c.now)
	require.NoError(b, err)
	for _, stop := range r.Stop {
		require.NoError(b, c.s.Stopped(stop.Task))
	}
}

// wait adds a job with a used-up share and so many tasks that need two slots. Each task
// has arcs to three racks, and one to wait.
func (c *churn) wait(b *testing.B, tasks int) {
	b.Helper()
	require.NoError(b, c.s.AddJob(c.Jobs, 0, 0))
	require.NoError(b, c.planner.AddJob(c.Jobs, 0, 0))
	racks := uint64(c.RackOf[len(c.RackOf)-1] + 1)
	for range tasks {
		first := c.rng.Uint64N(racks)
		for k := range uint64(3) {
			c.arcs[c.next] = append(c.arcs[c.next], shapes.Arc{Kind: shapes.Rack, At: int((first + k) % racks), Cost: int64(k)})
		}
		c.arcs[c.next] = append(c.arcs[c.next], shapes.Arc{Kind: shapes.Unscheduled, Cost: 1000})
		require.NoError(b, c.s.Add(c.next, flow.Task[int]{Job: c.Jobs, Need: resources.Vector{2}}, c.now))
		require.NoError(b, c.planner.AddTask(c.next, c.Jobs, 0))
		c.next++
	}
}

// measure reports cpu-ms and objects of a round after 1 % of the tasks have ended and as
// many have come. It also reports the ratio to the time of the planner alone for the same
// changes. The work before the round is not counted.
func (c *churn) measure(b *testing.B) {
	b.Helper()
	ctx := context.Background()
	for range 3 {
		c.round(b)
	}
	_, err := c.planner.Plan(ctx, 0)
	require.NoError(b, err)
	var round, plan time.Duration
	var before, after runtime.MemStats
	var objects, bytes uint64
	b.ResetTimer()
	b.StopTimer()
	for range b.N {
		c.change(b)
		began := cputime.Used()
		_, err := c.planner.Plan(ctx, 0)
		plan += cputime.Used() - began
		require.NoError(b, err)
		runtime.ReadMemStats(&before)
		b.StartTimer()
		began = cputime.Used()
		c.round(b)
		round += cputime.Used() - began
		b.StopTimer()
		runtime.ReadMemStats(&after)
		objects += after.Mallocs - before.Mallocs
		bytes += after.TotalAlloc - before.TotalAlloc
	}
	n := float64(b.N)
	b.ReportMetric(float64(round)/n/1e6, "cpu-ms/op")
	b.ReportMetric(float64(round)/float64(max(plan, 1)), "ratio")
	b.ReportMetric(float64(objects)/n, "objects/op")
	b.ReportMetric(float64(bytes)/n, "bytes/op")
}

func BenchmarkRound(b *testing.B) {
	for _, shape := range []shapes.Shape{shapes.A(), shapes.B(), shapes.C()} {
		b.Run("shape="+shapes.Name(shape, 90), func(b *testing.B) {
			if testing.Short() && shape == shapes.C() {
				b.Skip("too long")
			}
			newChurn(b, shape, 90).measure(b)
		})
	}
}

// The same in cells that are half full, beside tasks that need more than a slot and wait
// for their share. Each round looks for machines where they fit, and the planner alone
// does not.
func BenchmarkRound_BeyondASlot(b *testing.B) {
	for _, shape := range []shapes.Shape{shapes.A(), shapes.B()} {
		b.Run("shape="+shapes.Name(shape, 50)+"/waiting=2000", func(b *testing.B) {
			c := newChurn(b, shape, 50)
			c.wait(b, 2000)
			c.measure(b)
		})
	}
}
