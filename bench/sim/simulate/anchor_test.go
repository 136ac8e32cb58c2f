package simulate_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/race"
	"github.com/cellsched/cellsched/bench/internal/recordings"
	"github.com/cellsched/cellsched/bench/sim/simulate"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// tight is the cell and the jobs that Google's simulator was run on, or the
// test is skipped.
func tight(t testing.TB) (simulate.Cell, []simulate.Job) {
	t.Helper()
	if race.Detector {
		t.Skip("a run is one goroutine's, and half a day of it is slow under the race detector")
	}
	const name = "omega-sim-workload-tight2k.csv"
	text, err := os.ReadFile(recordings.Find(t, "omega-sim/"+name))
	require.NoError(t, err)
	jobs, err := simulate.ReadCSV(name, bytes.NewReader(text))
	require.NoError(t, err)
	require.Len(t, jobs, 6557)
	return simulate.Cell{
		Machines: 2000, Capacity: resources.Vector{4000, 16 << 30},
		Prefill: 0.6, PrefillNeed: resources.Vector{1000, 2 << 30},
	}, jobs
}

// The results of Google's simulator on the same jobs with a monolithic scheduler of
// two paths. No job waits for room there, so that only the queue matters.
func TestRun_IsExactlyGooglesSimulatorWithOneQueue(t *testing.T) {
	cell, jobs := tight(t)
	tests := map[string]struct {
		service                time.Duration
		busyness               float64
		waitBatch, waitService float64
		batch, services        int
	}{
		"0.1 s": {100 * time.Millisecond, 0.06889, 0.0330, 0.0244, 4418, 2139},
		"1 s":   {time.Second, 0.11345, 0.0619, 0.0596, 4418, 2139},
		"10 s":  {10 * time.Second, 0.55813, 5.2841, 5.3346, 4415, 2135},
		"100 s": {100 * time.Second, 0.99718, 16665.7664, 17131.5746, 898, 425},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			think := simulate.DefaultThink()
			think.Job = tt.service
			m, err := simulate.Run(t.Context(), simulate.Config{
				Cell: cell, Jobs: jobs, Horizon: 12 * time.Hour,
				Architecture: simulate.MultiPath(simulate.DefaultThink(), think),
				Placement:    simulate.NextFit,
			})
			require.NoError(t, err)
			batch, service := &m.Classes[simulate.Batch], &m.Classes[simulate.Service]
			require.Equal(t, [2]int{tt.batch, tt.services}, [2]int{batch.Started, service.Started})
			require.InDelta(t, tt.busyness, m.Busyness(simulate.Batch), 1e-4)
			for _, c := range []struct {
				want float64
				got  simulate.Summary
			}{{tt.waitBatch, batch.Wait}, {tt.waitService, service.Wait}} {
				require.Equal(t, fmt.Sprintf("%.4f", c.want), fmt.Sprintf("%.4f", c.got.Mean.Seconds()))
			}
		})
	}
}

// The results of Google's simulator on the same jobs with one scheduler for each
// class, services deciding for 10 s. There, machines are drawn by other random
// numbers, so only about as many conflicts are to be expected. They are the
// mean of two seeds, within 10 %, and waits, with their long tail, within 20 %.
func TestRun_ConflictsAsOftenAsInGooglesSimulator(t *testing.T) {
	if testing.Short() {
		t.Skip("half a day, eight times")
	}
	cell, jobs := tight(t)
	tests := map[string]struct {
		detect    omega.Detection
		gang      bool
		conflicts float64
		queued    [simulate.Classes]float64 // seconds until all of a job is placed
	}{
		"fit, incremental":    {omega.Fine, false, 0.24075, [...]float64{0.0329, 11.0331}},
		"fit, gang":           {omega.Fine, true, 0.32787, [...]float64{0.0342, 16.6638}},
		"claims, incremental": {omega.CoarseClaims, false, 0.39251, [...]float64{0.0324, 19.5304}},
		"claims, gang":        {omega.CoarseClaims, true, 0.57424, [...]float64{0.0343, 44.1018}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			service := simulate.DefaultThink()
			service.Job = 10 * time.Second
			a := simulate.SharedState(simulate.DefaultThink(), service, 1)
			a.Detect, a.Gang = tt.detect, tt.gang
			const seeds = 2
			conflicts, queued := 0.0, [simulate.Classes]float64{}
			for seed := range uint64(seeds) {
				m, err := simulate.Run(t.Context(), simulate.Config{
					Cell: cell, Jobs: jobs, Horizon: 12 * time.Hour, Architecture: a, Seed: seed,
				})
				require.NoError(t, err)
				require.Zero(t, m.Classes[simulate.Batch].Left())
				conflicts += m.Classes[simulate.Service].Conflicts() / seeds
				for c := range queued {
					queued[c] += m.Classes[c].QueuedFull.Mean.Seconds() / seeds
				}
			}
			require.InEpsilon(t, tt.conflicts, conflicts, 0.1)
			for c, want := range tt.queued {
				require.InEpsilon(t, want, queued[c], 0.2, simulate.Class(c))
			}
		})
	}
}

// The results of Google's simulator with a monolithic scheduler of two paths in a small
// cell that is 84.5 % full, for another draw of the same workload. Batch jobs wait for
// 3.45 and 2,187 s. A scheduler that reads the cell when a decision begins has twice
// as much: room that is given back during a decision is of no use to it.
func TestRun_WaitsAsLongAsInGooglesSimulatorInAFullCell(t *testing.T) {
	if race.Detector || testing.Short() {
		t.Skip("half a day, twice")
	}
	for service, want := range map[time.Duration]float64{5 * time.Second: 3.45, 10 * time.Second: 2187} {
		cfg := small(t, 1)
		var err error
		cfg.Horizon = 12 * time.Hour
		cfg.Jobs, err = simulate.Generate(1, cfg.Horizon, smallSources()...)
		require.NoError(t, err)
		cfg.Architecture = simulate.MultiPath(simulate.DefaultThink(), simulate.Think{Job: service, Task: 5 * time.Millisecond})
		m, err := simulate.Run(t.Context(), cfg)
		require.NoError(t, err)
		require.InEpsilon(t, want, m.Classes[simulate.Batch].Wait.Mean.Seconds(), 0.15)
	}
}
