package simulate_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/sim/simulate"
	"github.com/cellsched/cellsched/internal/cputime"
	"github.com/cellsched/cellsched/resources"
)

// day returns a day's jobs, of some 900,000 tasks, and the need of each of these.
func day(b *testing.B) (jobs []simulate.Job, need resources.Vector) {
	b.Helper()
	need = resources.Vector{1000, 2 << 30}
	jobs, err := simulate.Generate(1, 24*time.Hour,
		simulate.Source{Class: simulate.Batch, Between: simulate.Exponential(10), Tasks: simulate.Exponential(100), Length: simulate.Exponential(100), Need: need},
		simulate.Source{Class: simulate.Service, Between: simulate.Exponential(20), Tasks: simulate.Exponential(10), Length: simulate.Exponential(500), Need: need})
	require.NoError(b, err)
	return jobs, need
}

// measure reports the cost of a run.
func measure(b *testing.B, cfg simulate.Config) {
	b.Helper()
	b.ReportAllocs()
	before := cputime.Used()
	for b.Loop() {
		m, err := simulate.Run(b.Context(), cfg)
		require.NoError(b, err)
		b.ReportMetric(float64(m.Classes[0].Granted+m.Classes[1].Granted), "tasks")
	}
	b.ReportMetric((cputime.Used()-before).Seconds()/float64(b.N), "cpu-s/op")
}

// A simulated day of 10,000 machines under one batch and one service scheduler.
// Jobs are generated before.
func BenchmarkRun(b *testing.B) {
	jobs, need := day(b)
	for name, p := range map[string]simulate.Placement{"random": simulate.RandomFit, "next": simulate.NextFit, "best-of-2": simulate.BestOfTwo} {
		b.Run(fmt.Sprintf("machines=10000/place=%s", name), func(b *testing.B) {
			measure(b, simulate.Config{
				Cell:    simulate.Cell{Machines: 10_000, Capacity: resources.Vector{4000, 16 << 30}, Prefill: 0.6, PrefillNeed: need},
				Jobs:    jobs,
				Horizon: 24 * time.Hour, Placement: p,
				Architecture: simulate.SharedState(simulate.DefaultThink(), simulate.DefaultThink(), 1),
			})
		})
	}
}

// The same day, of frameworks that are offered all free room, in the same CPUs
// in larger machines: the cost is that of offers, one for each machine and decision.
func BenchmarkTwoLevel(b *testing.B) {
	jobs, need := day(b)
	for _, machines := range []int{625, 1250} {
		capacity := resources.Vector{4000, 16 << 30}.Scale(10_000 / int64(machines))
		for _, think := range []time.Duration{100 * time.Millisecond, 100 * time.Second} {
			b.Run(fmt.Sprintf("machines=%d/t_job=%v", machines, think), func(b *testing.B) {
				measure(b, simulate.Config{
					Cell:         simulate.Cell{Machines: machines, Capacity: capacity, Prefill: 0.6, PrefillNeed: need},
					Jobs:         jobs,
					Horizon:      24 * time.Hour,
					Architecture: simulate.TwoLevel(simulate.DefaultThink(), simulate.Think{Job: think, Task: 5 * time.Millisecond}),
				})
			})
		}
	}
}
