package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	elastic "github.com/cellsched/cellsched/bench/elastic/experiments"
	"github.com/cellsched/cellsched/bench/sim/experiments"
	"github.com/cellsched/cellsched/bench/sim/federate"
)

// fill gives rows results that no scheduler has had.
func fill(r *rand.Rand, rows []experiments.Row) []experiments.Row {
	for i := range rows {
		for c := range rows[i].Class {
			busy, conflicts := r.Float64(), r.Float64()
			rows[i].Class[c] = experiments.Outcome{
				EachBusyness: []float64{busy, busy}, EachConflicts: []float64{conflicts, conflicts},
				Busyness: r.Float64(), BusynessOn: r.Float64(), Conflicts: r.Float64(), Wait: 100 * r.Float64(), Abandoned: float64(r.IntN(2)),
				Full: 100 * r.Float64(), Submitted: 10, Placed: float64(r.IntN(10)), Locked: r.Float64(),
			}
		}
		rows[i].CPU = r.Float64()
	}
	return rows
}

func someElastic(r *rand.Rand) (cells []cell) {
	for range 2 {
		var c cell
		for range 4 {
			row, most := elastic.Row{Speedups: make([]float64, 20)}, 10*r.Float64()
			for i := range row.Speedups {
				row.Speedups[i] = most * r.Float64()
			}
			slices.Sort(row.Speedups)
			one, gained, fast := elastic.Utilisation{Deviation: r.Float64()}, r.Float64(), most
			c.policies = append(c.policies, pooled{
				Row: row, each: []elastic.Utilisation{one, one}, gained: []float64{gained, gained}, p80: []float64{fast, fast},
			})
		}
		cells = append(cells, c)
	}
	return cells
}

func someFederated(r *rand.Rand) (rows []federate.Row) {
	some := func() time.Duration { return time.Duration(r.Int64N(int64(time.Second))) }
	for _, scheduler := range []string{"ideal", "sparrow", "megha"} {
		for _, load := range []float64{0.5, 0.8, 0.9, 0.95} {
			for _, workers := range []int{1000, 10_000, 50_000} {
				for _, experiment := range []string{federate.Load, federate.Synthetic} {
					p := federate.Point{Experiment: experiment, Scheduler: scheduler, Load: load, Cluster: federate.Cluster{Workers: workers}}
					rows = append(rows, federate.Row{Point: p, WaitP50: some(), WaitP95: some(), WaitP99: some(), DelayP50: some(), Refused: r.Float64()})
				}
			}
		}
	}
	return rows
}

// A verdict that is the same for all results means nothing.
func TestClaims_DifferForSomeResults(t *testing.T) {
	var architectures, twoLevel, modes, load, schedulers []experiments.Row
	for _, rule := range []string{"no timeout", "timeout 30 s", "fair share", "filter", "gang offer", "optimistic", "multi-path", "omega"} {
		for _, tJob := range []time.Duration{100 * time.Millisecond, time.Second, 10 * time.Second, 30 * time.Second, 100 * time.Second} {
			row := experiments.Row{Architecture: "two-level", Mode: rule, TJob: tJob}
			if rule == "multi-path" || rule == "omega" {
				row.Architecture, row.Mode = rule, ""
			}
			twoLevel = append(twoLevel, row)
		}
	}
	for _, name := range []string{"single-path", "multi-path", "partitioned", "omega", "sparrow"} {
		for _, tJob := range []time.Duration{100 * time.Millisecond, time.Second, 10 * time.Second, 30 * time.Second, 100 * time.Second} {
			architectures = append(architectures, experiments.Row{Architecture: name, TJob: tJob})
		}
	}
	for _, mode := range []string{
		"fit + incremental", "fit + gang", "claims + incremental", "claims + gang", "changes + incremental", "changes + gang",
	} {
		for _, tJob := range []time.Duration{5 * time.Second, 10 * time.Second} {
			modes = append(modes, experiments.Row{Mode: mode, TJob: tJob})
		}
	}
	for _, rate := range []float64{4, 8, 16} {
		load = append(load, experiments.Row{Rate: rate})
		for _, n := range []int{1, 2, 4, 8, 16, 32} {
			schedulers = append(schedulers, experiments.Row{Rate: rate, Batch: n})
		}
	}
	tests := map[string]func(*rand.Rand) []claim{
		"architectures": func(r *rand.Rand) []claim { return architectureClaims(fill(r, architectures)) },
		"twolevel":      func(r *rand.Rand) []claim { return twoLevelClaims(fill(r, twoLevel)) },
		"modes":         func(r *rand.Rand) []claim { return modesClaims(fill(r, modes)) },
		"load":          func(r *rand.Rand) []claim { return loadClaims(fill(r, load)) },
		"schedulers":    func(r *rand.Rand) []claim { return spreadClaims(fill(r, schedulers)) },
		"elastic":       func(r *rand.Rand) []claim { return elasticClaims(someElastic(r)) },
		"federation":    func(r *rand.Rand) []claim { return federatedClaims(someFederated(r)) },
	}
	for name, draw := range tests {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			differs := make(map[string]bool)
			for range 200 {
				for _, c := range draw(r) {
					differs[c.paper] = differs[c.paper] || !c.same && !c.open
				}
			}
			for stated, can := range differs {
				require.True(t, can, stated)
			}
		})
	}
}

// A statement does not hold without its rows: an empty row has no refusals and no waits.
func TestFederatedClaims_NeedTheirRows(t *testing.T) {
	for _, c := range federatedClaims(nil) {
		require.False(t, c.same, c.paper)
		require.Equal(t, "It was not measured.", c.here)
	}
}
