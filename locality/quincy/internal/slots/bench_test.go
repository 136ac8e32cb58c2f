package slots_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/mcf/shapes"
	"github.com/cellsched/cellsched/locality/quincy/internal/slots"
)

// cell is a shape as a net.
type cell struct {
	*shapes.Cell
	net      *slots.Net
	cluster  slots.Loc
	racks    []slots.Loc
	machines []slots.Loc
	jobs     []slots.Loc
	count    []int // tasks, by job
	tasks    []int32
	jobOf    []int
}

func newCell(shape shapes.Shape, percent int) *cell {
	c := &cell{Cell: shapes.New(shape, 1), net: slots.New(), count: make([]int, shape.Jobs)}
	for range shape.Jobs {
		c.jobs = append(c.jobs, c.net.AddLeaf(slots.Sink))
	}
	c.cluster = c.net.AddGroup(slots.Sink)
	for m, k := range c.RackOf {
		if k == len(c.racks) {
			c.racks = append(c.racks, c.net.AddGroup(c.cluster))
		}
		c.machines = append(c.machines, c.net.AddLeaf(c.racks[k]))
		c.net.SetLeaf(c.machines[m], 0, shape.Slots)
	}
	for _, t := range c.Fill(percent) {
		c.add(t)
	}
	c.share()
	return c
}

func (c *cell) add(t shapes.Task) {
	options := make([]slots.Option, len(t.Arcs))
	for i, a := range t.Arcs {
		options[i] = slots.Option{Base: a.Cost}
		switch a.Kind {
		case shapes.Cluster:
			options[i].At = c.cluster
		case shapes.Rack:
			options[i].At = c.racks[a.At]
		case shapes.Machine:
			options[i].At = c.machines[a.At]
		case shapes.Unscheduled:
			options[i].At = c.jobs[a.At]
		}
	}
	c.tasks, c.jobOf = append(c.tasks, c.net.Add(options)), append(c.jobOf, t.Job)
	c.count[t.Job]++
}

func (c *cell) share() {
	low, top := shapes.Shares(c.count, c.Machines*c.Slots)
	for j, n := range c.count {
		c.net.SetLeaf(c.jobs[j], n-top[j], top[j]-low[j])
	}
}

// churn lets per mille of the tasks leave and as many come.
func (c *cell) churn(rng *rand.Rand, perMille int) {
	for range max(1, len(c.tasks)*perMille/1000) {
		i, last := rng.IntN(len(c.tasks)), len(c.tasks)-1
		c.net.Remove(c.tasks[i])
		c.count[c.jobOf[i]]--
		c.tasks[i], c.jobOf[i] = c.tasks[last], c.jobOf[last]
		c.tasks, c.jobOf = c.tasks[:last], c.jobOf[:last]
		c.add(c.Task(false))
	}
	c.share()
}

// From scratch: cpu-ms is CPU time of the special solver, and ratio how many
// times as long the generic one takes in the same run.
func BenchmarkSolve(b *testing.B) {
	for _, shape := range []shapes.Shape{shapes.A(), shapes.B(), shapes.C()} {
		for _, percent := range []int{90, 100, 150} {
			b.Run("shape="+shapes.Name(shape, percent), func(b *testing.B) {
				if testing.Short() && shape == shapes.C() {
					b.Skip("too long")
				}
				var special, generic time.Duration
				b.StopTimer()
				for range b.N {
					c := newCell(shape, percent)
					g := c.net.Graph(0)
					runtime.GC()
					b.StartTimer()
					began := cpuTime()
					err := c.net.Solve(context.Background(), 0)
					special += cpuTime() - began
					b.StopTimer()
					require.NoError(b, err)
					require.NoError(b, c.net.Verify())
					if generic == 0 {
						began = cpuTime()
						want, err := g.Solve(context.Background())
						generic = cpuTime() - began
						require.NoError(b, err)
						require.Equal(b, want.Cost, c.net.Cost())
					}
				}
				each := float64(special) / float64(b.N)
				b.ReportMetric(each/1e6, "cpu-ms/op")
				b.ReportMetric(float64(generic)/max(each, 1), "ratio")
			})
		}
	}
}

// Some tasks leave, as many come. Applying that is not counted.
func BenchmarkSolve_AfterChanges(b *testing.B) {
	for _, shape := range []shapes.Shape{shapes.A(), shapes.B(), shapes.C()} {
		for _, percent := range []int{90, 100, 150} {
			for _, perMille := range []int{1, 10} {
				b.Run(fmt.Sprintf("shape=%s/permille=%d", shapes.Name(shape, percent), perMille), func(b *testing.B) {
					if testing.Short() && shape == shapes.C() {
						b.Skip("too long")
					}
					c := newCell(shape, percent)
					require.NoError(b, c.net.Solve(context.Background(), 0))
					rng := rand.New(rand.NewPCG(1, 2))
					var cpu time.Duration
					var before, after runtime.MemStats
					var bytes uint64
					b.ResetTimer()
					b.StopTimer()
					for range b.N {
						c.churn(rng, perMille)
						runtime.ReadMemStats(&before)
						b.StartTimer()
						began := cpuTime()
						err := c.net.Solve(context.Background(), 0)
						cpu += cpuTime() - began
						b.StopTimer()
						runtime.ReadMemStats(&after)
						bytes += after.TotalAlloc - before.TotalAlloc
						require.NoError(b, err)
						c.net.Forget()
					}
					require.NoError(b, c.net.Verify())
					b.ReportMetric(float64(cpu)/1e6/float64(b.N), "cpu-ms/op")
					b.ReportMetric(float64(bytes)/1024/float64(b.N), "solve-KB/op")
				})
			}
		}
	}
}
