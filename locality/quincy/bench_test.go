package quincy_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/cputime"
	"github.com/cellsched/cellsched/internal/shapes"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// cell is a planner and the tasks that it has, or is to have.
type cell struct {
	p      *quincy.Planner[int, int]
	shape  shapes.Shape
	rng    *rand.Rand
	inputs [][]quincy.Block // by task, as jobs
	jobs   []int
	tasks  []int // those that are there
	added  int
	asked  int
}

// newCell returns a cell without tasks, and draws as many as are to be added.
func newCell(b *testing.B, shape shapes.Shape, percent int) *cell {
	b.Helper()
	c := &cell{shape: shape, rng: rand.New(rand.NewPCG(1, 2))}
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
	c.draw(tasks)
	return c
}

// draw makes up tasks with a file or two of up to 16 GB, each in three copies, two
// of them in one rack.
func (c *cell) draw(tasks int) {
	for range tasks {
		var in []quincy.Block
		for range 1 + c.rng.IntN(5)/3 {
			first, second := c.rng.IntN(c.shape.Machines), c.rng.IntN(c.shape.Machines)
			third := min(second/40*40+c.rng.IntN(40), c.shape.Machines-1)
			in = append(in, quincy.Block{Bytes: int64(64<<20) << c.rng.IntN(9), Nodes: []locality.Node{locality.Node(first), locality.Node(second), locality.Node(third)}})
		}
		c.inputs, c.jobs = append(c.inputs, in), append(c.jobs, c.rng.IntN(c.shape.Jobs))
	}
}

// add adds the tasks that were drawn since.
func (c *cell) add(b *testing.B, now int64) {
	b.Helper()
	for ; c.added < len(c.jobs); c.added++ {
		if err := c.p.AddTask(c.added, c.jobs[c.added], now); err != nil {
			b.Fatal(err)
		}
		c.tasks = append(c.tasks, c.added)
	}
}

// change draws per mille of the tasks, which are to go, and as many that come.
func (c *cell) change(perMille int) (leave []int) {
	for range max(1, len(c.tasks)*perMille/1000) {
		i, last := c.rng.IntN(len(c.tasks)), len(c.tasks)-1
		leave = append(leave, c.tasks[i])
		c.tasks[i] = c.tasks[last]
		c.tasks = c.tasks[:last]
	}
	c.draw(len(leave))
	return leave
}

func (c *cell) plan(b *testing.B, now int64) {
	b.Helper()
	_, err := c.p.Plan(b.Context(), now)
	require.NoError(b, err)
}

// figures are the medians of what was measured, by unit.
type figures map[string][]float64

func (f figures) add(unit string, value float64) { f[unit] = append(f[unit], value) }

func (f figures) report(b *testing.B) {
	b.Helper()
	for unit, values := range f {
		slices.Sort(values)
		b.ReportMetric(values[len(values)/2], unit)
	}
	b.ReportMetric(0, "ns/op") // it would be that of making up cells
}

// millis returns the CPU time that do takes, that of the garbage collector in the
// meantime included.
func millis(do func()) float64 {
	began := cputime.Used()
	do()
	return float64(cputime.Used()-began) / 1e6
}

// allocated returns how many objects and bytes do allocates.
func allocated(do func()) (objects, bytes float64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc)
}

// sizes are those of the benchmarks.
func sizes(b *testing.B, percents []int, run func(b *testing.B, shape shapes.Shape, percent int)) {
	b.Helper()
	for _, shape := range []shapes.Shape{shapes.A(), shapes.B(), shapes.C()} {
		for _, percent := range percents {
			b.Run("shape="+shapes.Name(shape, percent), func(b *testing.B) {
				if testing.Short() && shape == shapes.C() {
					b.Skip("too long")
				}
				run(b, shape, percent)
			})
		}
	}
}

// From scratch: all tasks are added to a planner without any, one plan is made, and
// for each task one asks where it runs. CPU time; objects and B are what a task
// takes to be added. All are medians.
func BenchmarkAdd(b *testing.B) {
	sizes(b, []int{90, 150}, func(b *testing.B, shape shapes.Shape, percent int) {
		b.Helper()
		f := figures{}
		for b.Loop() {
			c := newCell(b, shape, percent)
			runtime.GC()
			objects, bytes := allocated(func() { f.add("add-ms", millis(func() { c.add(b, 0) })) })
			f.add("objects/task", objects/float64(c.added))
			f.add("B/task", bytes/float64(c.added))
			f.add("plan-ms", millis(func() { c.plan(b, 0) }))
			f.add("read-ms", millis(func() {
				for _, t := range c.tasks {
					c.p.Placed(t)
				}
			}))
		}
		f.report(b)
	})
}

// Whole rounds: some of the tasks end, as many come, and a plan is made, with all
// that Arcs is asked for. plan-ms is CPU time of Plan, changes-ms that of what
// comes before, round-ms that of both, KB what is allocated. With step=5 time passes
// between rounds, so that the costs of all tasks change. All are medians.
func BenchmarkPlan(b *testing.B) {
	sizes(b, []int{90}, func(b *testing.B, shape shapes.Shape, percent int) {
		b.Helper()
		for _, perMille := range []int{1, 10} {
			for _, step := range []int64{0, 5} {
				b.Run(fmt.Sprintf("permille=%d/step=%d", perMille, step), func(b *testing.B) {
					c := newCell(b, shape, percent)
					c.add(b, 0)
					c.plan(b, 0)
					runtime.GC()
					f, now := figures{}, int64(0)
					for b.Loop() {
						now += step
						leave := c.change(perMille)
						c.asked = 0
						_, bytes := allocated(func() {
							changes := millis(func() {
								for _, t := range leave {
									if err := c.p.RemoveTask(t); err != nil {
										b.Fatal(err)
									}
								}
								c.add(b, now)
							})
							plan := millis(func() { c.plan(b, now) })
							f.add("changes-ms", changes)
							f.add("plan-ms", plan)
							f.add("round-ms", changes+plan)
						})
						f.add("KB", bytes/1024)
						f.add("asked", float64(c.asked))
					}
					f.report(b)
				})
			}
		}
	})
}

// The cost of an explanation after a round in which 1 % of the tasks have changed.
// It is CPU time in microseconds, for running tasks and for waiting ones if there
// are any. All are medians of 200 tasks.
func BenchmarkExplain(b *testing.B) {
	sizes(b, []int{90, 100, 150}, func(b *testing.B, shape shapes.Shape, percent int) {
		b.Helper()
		c := newCell(b, shape, percent)
		c.add(b, 0)
		c.plan(b, 0)
		for _, t := range c.change(10) {
			require.NoError(b, c.p.RemoveTask(t))
		}
		c.add(b, 1)
		c.plan(b, 1)
		f := figures{}
		for b.Loop() {
			f = figures{}
			for i, end := 0, min(len(c.tasks), 1000); i < end; i++ {
				t := c.tasks[c.rng.IntN(len(c.tasks))]
				unit := "waiting-us"
				if _, runs := c.p.Placed(t); runs {
					unit = "running-us"
				}
				if len(f[unit]) < 200 {
					f.add(unit, 1000*millis(func() {
						_, err := c.p.Explain(t)
						require.NoError(b, err)
					}))
				}
			}
		}
		f.report(b)
	})
}
