package slots_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/cputime"
	"github.com/cellsched/cellsched/internal/mcf"
	"github.com/cellsched/cellsched/internal/shapes"
	"github.com/cellsched/cellsched/internal/slots"
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
	built    float64 // milliseconds of CPU time that it took to add the tasks
}

func newCell(shape shapes.Shape, percent int) *cell { return drawCell(shape, percent, 1) }

func drawCell(shape shapes.Shape, percent int, seed uint64) *cell {
	c := &cell{Cell: shapes.New(shape, seed), net: slots.New(), count: make([]int, shape.Jobs)}
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
	tasks := c.Fill(percent)
	began := cputime.Used()
	for _, t := range tasks {
		c.add(t)
	}
	c.built = float64(cputime.Used()-began) / 1e6
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

// sizes are those of the benchmarks.
func sizes(b *testing.B, run func(b *testing.B, shape shapes.Shape, percent int)) {
	b.Helper()
	for _, shape := range []shapes.Shape{shapes.A(), shapes.B(), shapes.C()} {
		for _, percent := range []int{90, 100, 150} {
			b.Run("shape="+shapes.Name(shape, percent), func(b *testing.B) {
				if testing.Short() && shape == shapes.C() {
					b.Skip("too long")
				}
				run(b, shape, percent)
				b.ReportMetric(0, "ns/op") // it would be that of making up cells
			})
		}
	}
}

// timed returns the CPU time in milliseconds that do takes.
func timed(b *testing.B, do func() error) float64 {
	b.Helper()
	began := cputime.Used()
	err := do()
	took := cputime.Used() - began
	require.NoError(b, err)
	return float64(took) / 1e6
}

func median(times []float64) float64 {
	slices.Sort(times)
	return times[len(times)/2]
}

// From scratch, of three cells of different seeds in turn:
//
//   - cpu-ms is the median of the special solver;
//   - ratio is the median of the generic one, over cpu-ms; it solves each cell once for
//     each time that the special one does;
//   - built-ms is the median of the time to add the tasks before, which is not counted.
//
// The generic solver's time to make the graph is counted: some hundredths of its time.
func BenchmarkSolve(b *testing.B) {
	sizes(b, func(b *testing.B, shape shapes.Shape, percent int) {
		b.Helper()
		var special, generic, built []float64
		for b.Loop() {
			for seed := range uint64(3) {
				c := drawCell(shape, percent, 1+seed)
				built = append(built, c.built)
				g := c.net.Graph(0)
				runtime.GC()
				special = append(special, timed(b, func() error { return c.net.Solve(b.Context(), 0) }))
				require.NoError(b, c.net.Verify())
				var want mcf.Solution
				runtime.GC()
				generic = append(generic, timed(b, func() (err error) {
					want, err = g.Solve(b.Context())
					return err
				}))
				require.Equal(b, want.Cost, c.net.Cost())
			}
		}
		each := median(special)
		b.ReportMetric(each, "cpu-ms")
		b.ReportMetric(median(generic)/max(each, 1e-6), "ratio")
		b.ReportMetric(median(built), "built-ms")
	})
}

// Some tasks leave, as many come; applying that is not counted.
//
//   - cpu-ms is the median of ten rounds after one from scratch;
//   - max-ms is the longest of them;
//   - of-cold is their mean as a share of the round from scratch;
//   - KB is the memory that a round allocates.
func BenchmarkSolve_AfterChanges(b *testing.B) {
	sizes(b, func(b *testing.B, shape shapes.Shape, percent int) {
		b.Helper()
		for _, perMille := range []int{1, 10} {
			b.Run(fmt.Sprintf("permille=%d", perMille), func(b *testing.B) {
				var rounds, cold []float64
				var bytes uint64
				for b.Loop() {
					c := newCell(shape, percent)
					rng := rand.New(rand.NewPCG(1, uint64(len(cold))))
					cold = append(cold, timed(b, func() error { return c.net.Solve(b.Context(), 0) }))
					for range 10 {
						c.churn(rng, perMille)
						bytes -= allocated()
						rounds = append(rounds, timed(b, func() error { return c.net.Solve(b.Context(), 0) }))
						bytes += allocated()
						c.net.Forget()
					}
					require.NoError(b, c.net.Verify())
				}
				n, sum := float64(len(rounds)), 0.0
				for _, r := range rounds {
					sum += r
				}
				b.ReportMetric(median(rounds), "cpu-ms")
				b.ReportMetric(rounds[len(rounds)-1], "max-ms")
				b.ReportMetric(sum/n/max(median(cold), 1e-6), "of-cold")
				b.ReportMetric(float64(bytes)/1024/n, "KB")
				b.ReportMetric(0, "ns/op")
			})
		}
	})
}

// allocated returns how many bytes were allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// live-MB is the heap of a net after a round, garbage aside; solve-MB is what
// the Solve from scratch before it allocated.
func BenchmarkSolve_Memory(b *testing.B) {
	sizes(b, func(b *testing.B, shape shapes.Shape, percent int) {
		b.Helper()
		var live, solve uint64
		for b.Loop() {
			c := newCell(shape, percent)
			before := allocated()
			require.NoError(b, c.net.Solve(b.Context(), 0))
			solve = allocated() - before
			c.churn(rand.New(rand.NewPCG(1, 2)), 10)
			require.NoError(b, c.net.Solve(b.Context(), 0))
			c.Cell, c.tasks, c.jobOf = nil, nil, nil
			with := heap()
			runtime.KeepAlive(c)
			c = nil
			live = with - heap()
		}
		b.ReportMetric(float64(live)/1e6, "live-MB")
		b.ReportMetric(float64(solve)/1e6, "solve-MB")
	})
}

// heap returns the bytes that are in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
