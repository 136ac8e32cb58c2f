package schedulers_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/cellsched/cellsched/bench/peers/internal/load"
	"github.com/cellsched/cellsched/internal/cputime"
)

// perMachine is the average number of tasks of a machine.
const perMachine = 20

// full is the share of cpu and memory that all tasks together take.
const full = 0.85

func seeded() *rand.Rand { return rand.New(rand.NewPCG(3, 0)) }

// meter adds up the CPU time of the process: wall time on two cores hides a
// collector that runs on the other one.
type meter struct{ from, total time.Duration }

func (m *meter) start(b *testing.B) {
	b.Helper()
	runtime.GC()
	m.from = cputime.Used()
	b.StartTimer()
}

func (m *meter) stop(b *testing.B) {
	b.Helper()
	b.StopTimer()
	m.total += cputime.Used() - m.from
}

func (m *meter) report(b *testing.B, tasks int) {
	b.Helper()
	b.ReportMetric(float64(m.total)/float64(tasks), "cpu-ns/task")
}

// crowded is a cell with the tasks that next fit finds room for, on the same machines
// for each rival.
func crowded(b *testing.B, machines int) setting {
	b.Helper()
	needs := load.Mixed(seeded(), machines*perMachine)
	s := setting{capacity: load.Capacity(needs, machines, full), machines: machines, needs: needs}
	p := newCell(b, s)
	s.running = make([]int, len(needs))
	for task := range needs {
		s.running[task] = none
		if p.place(task, &needs[task]) {
			s.running[task] = p.where[task]
		}
	}
	return s
}

// BenchmarkSteady measures one release and one placement in a cell that stays 85 % full of
// mixed needs.
func BenchmarkSteady(b *testing.B) {
	for _, machines := range []int{500, 5_000} {
		for _, r := range rivals() {
			b.Run(fmt.Sprintf("machines=%d/impl=%s", machines, r.name), func(b *testing.B) {
				s := crowded(b, machines)
				p := r.open(b, s)
				var live []int
				s.eachRunning(func(task, _ int) { live = append(live, task) })
				rng := seeded()
				var m meter
				b.ReportAllocs()
				b.ResetTimer()
				m.start(b)
				for range b.N {
					task := live[rng.IntN(len(live))]
					p.release(task)
					if !p.place(task, &s.needs[task]) {
						b.Fatal("task", task, "found no room where it was")
					}
				}
				m.stop(b)
				m.report(b, b.N)
			})
		}
	}
}

// BenchmarkFill measures filling 500 machines, to 85 % by single tasks, and to 50 % by jobs
// of 100 alike tasks.
func BenchmarkFill(b *testing.B) {
	const machines, tasks = 500, 500 * perMachine
	for _, width := range []int{1, 100} {
		for _, r := range rivals() {
			b.Run(fmt.Sprintf("job=%d/impl=%s", width, r.name), func(b *testing.B) {
				shapes := load.Mixed(seeded(), tasks/width)
				share := full
				if width > 1 {
					share = 0.5
				}
				s := setting{capacity: load.Capacity(shapes, machines, share), machines: machines, needs: make([]load.Need, tasks)}
				for k := range s.capacity {
					s.capacity[k] *= int64(width)
				}
				var m meter
				b.ReportAllocs()
				b.StopTimer()
				for range b.N {
					p := r.open(b, s)
					m.start(b)
					for i := range shapes {
						if n := p.placeJob(i*width, &shapes[i], width); n != width {
							b.Fatal("job ", i, " got ", n)
						}
					}
					m.stop(b)
				}
				m.report(b, b.N*tasks)
			})
		}
	}
}
