package simulate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/bench/sim/simulate"
	"github.com/cellsched/cellsched/resources"
)

// With any jobs, a run to the end grants every task once, and the cell
// passes its own checks.
func TestRun_ConservesAnyJobs(t *testing.T) {
	conserves(t, 1, "single path", "multi-path", "omega, fit", "omega, claims", "omega, fit, gangs")
}

// conserves runs any jobs on cells of so many machines or more, under any of
// some architectures.
func conserves(t *testing.T, machines int, names ...string) {
	t.Helper()
	rapid.Check(t, func(r *rapid.T) {
		cfg := simulate.Config{
			Cell: simulate.Cell{Machines: rapid.IntRange(machines, 5).Draw(r, "machines"), Capacity: resources.Vector{4, 4}},
			Seed: rapid.Uint64().Draw(r, "seed"), Attempts: 2000, Fruitless: 2000, // else room that is never released is waited for for ever
		}
		tasks, at := 0, time.Duration(0)
		for range rapid.IntRange(0, 20).Draw(r, "jobs") {
			at += time.Duration(rapid.IntRange(0, 3).Draw(r, "between")) * time.Second
			j := simulate.Job{
				Class: simulate.Class(rapid.IntRange(0, 1).Draw(r, "class")), Submit: at,
				Tasks:    rapid.IntRange(1, cfg.Cell.Machines).Draw(r, "tasks"),
				Duration: time.Duration(rapid.IntRange(0, 5).Draw(r, "duration")) * time.Second,
				Need:     resources.Vector{rapid.Int64Range(1, 4).Draw(r, "cpu"), rapid.Int64Range(0, 4).Draw(r, "memory")},
			}
			tasks += j.Tasks
			cfg.Jobs = append(cfg.Jobs, j)
		}
		cfg.Architecture = architectures()[rapid.SampledFrom(names).Draw(r, "architecture")]
		m, err := simulate.Run(t.Context(), cfg)
		require.NoError(r, err)
		require.Equal(r, tasks, m.Classes[simulate.Batch].Granted+m.Classes[simulate.Service].Granted)
		require.Zero(r, m.Classes[simulate.Batch].Left()+m.Classes[simulate.Service].Left())
	})
}
