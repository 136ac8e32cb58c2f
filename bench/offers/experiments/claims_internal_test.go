package experiments

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/race"
)

// measure runs the cases of an experiment that have the text in their name, with some
// seeds, and returns their rows by name.
func measure(t *testing.T, points []point, having string, seeds uint64) map[string]Row {
	t.Helper()
	if race.Detector {
		t.Skip("a run is one goroutine, and slow under the race detector")
	}
	rows := map[string]Row{}
	for _, p := range points {
		if !strings.Contains(p.name, having) {
			continue
		}
		var runs [][]value
		for seed := range seeds {
			values, err := p.run(t.Context(), seed+1)
			require.NoError(t, err)
			runs = append(runs, values)
		}
		rows[p.name] = summarise(p, runs)
	}
	require.NotEmpty(t, rows)
	return rows
}

// mean returns a row's figure of that name.
func mean(t *testing.T, r Row, name string) float64 {
	t.Helper()
	f, ok := r.Figure(name)
	require.True(t, ok, "%s has no %s", r.Case, name)
	return f.Mean
}

// NSDI 2011, section 5: the formulas hold within 10 %.
func TestModel_IsWithinTenPerCentOfTheFormulas(t *testing.T) {
	t.Parallel()
	for having, seeds := range map[string]uint64{
		"constant, elastic, beta": 1, "constant, rigid, beta": 1, "exponential, elastic, beta": 2,
		"exponential, rigid, beta 1": 12, "exponential, rigid, beta 5": 12,
	} {
		for name, row := range measure(t, modelPoints(), having, seeds) {
			if strings.Contains(name, "own tasks") || strings.Contains(name, "any slot") {
				continue // the formulas leave this out
			}
			require.Len(t, row.Figures, 2+strings.Count(name, "rigid"), name)
			for _, f := range row.Figures {
				require.Positive(t, f.Expected)
				require.InEpsilon(t, f.Expected, f.Mean, 0.1, "%s: %s", name, f.Name)
			}
		}
	}
}

// The formulas leave two effects out. A job with long tasks of its own ends later. One
// that may use any slot has its share sooner.
func TestModel_DiffersByOmittedEffects(t *testing.T) {
	t.Parallel()
	for _, row := range measure(t, modelPoints(), "own tasks", 2) {
		require.Greater(t, row.Figures[0].Mean, 1.1*row.Figures[0].Expected, row.Case)
	}
	for _, row := range measure(t, modelPoints(), "any slot", 2) {
		require.Less(t, mean(t, row, "ramp-up / T"), 0.35, row.Case)
	}
}

// NSDI 2011, section 5.4.
func TestIncentives_Pay(t *testing.T) {
	t.Parallel()
	rows := measure(t, incentivePoints(), "", 1)
	require.Len(t, rows, 4)
	for name, row := range rows {
		require.Greater(t, mean(t, row, "advantage"), 1.2, name)
	}
	short := rows["short tasks"]
	require.Zero(t, mean(t, short, "lost / slot s"), "they end within the grace")
	require.Greater(t, mean(t, short, "else lost / slot s"), 1000.0)
}

// NSDI 2011, section 6.1: 10 % more of the CPUs in use, and 17 % more of memory.
func TestSharing_UsesMoreThanStaticPartitions(t *testing.T) {
	t.Parallel()
	rows := measure(t, sharingPoints(), "", 1)
	shared, static := rows["shared"], rows["static partitions"]
	require.Greater(t, mean(t, shared, "CPU"), 1.1*mean(t, static, "CPU"))
	require.Greater(t, mean(t, shared, "memory"), 1.17*mean(t, static, "memory"))
	require.LessOrEqual(t, mean(t, shared, "CPU"), 1.0)
	for _, framework := range []string{"facebook", "large", "spark"} {
		require.Greater(t, mean(t, static, framework+" / s"), 1.2*mean(t, shared, framework+" / s"), framework)
	}
}

// NSDI 2011, section 6.3: 18 % of the tasks are where their data is, and more than
// 90 % after a wait of a second.
func TestLocality_IsWorthAWaitOfASecond(t *testing.T) {
	t.Parallel()
	rows := measure(t, localityPoints(), "", 1)
	require.InDelta(t, 0.18, mean(t, rows["static partitions"], "local"), 0.03)
	require.Less(t, mean(t, rows["shared, wait 0s"], "local"), 0.8)
	require.Greater(t, mean(t, rows["shared, wait 1s"], "local"), 0.9)
	require.Greater(t, mean(t, rows["shared, wait 5s"], "local"), 0.98)
	require.Less(t, mean(t, rows["shared, wait 5s"], "all read / s"), mean(t, rows["shared, wait 0s"], "all read / s"))
}

// Omega, section 4.2: a framework that thinks for long locks the cell, unless it cannot.
func TestPathologies_ComeFromOffersHeldWhileThinking(t *testing.T) {
	t.Parallel()
	rows := measure(t, pathologyPoints(), "decides in "+time.Minute.String(), 3)
	require.Len(t, rows, int(allOfThem))
	of := func(m manner, figure string) float64 {
		return mean(t, rows[m.String()+", decides in 1m0s"], figure)
	}
	require.Greater(t, of(hoards, "locked"), 0.15)
	for _, m := range []manner{timed, fair, filtered, asks, shown, optimist} {
		require.Greater(t, of(hoards, "batch wait / s"), 10*of(m, "batch wait / s"), m)
		require.Less(t, of(m, "locked"), 0.1, m)
	}
	require.Zero(t, of(asks, "locked"))
	require.Zero(t, of(shown, "locked"))
	require.Greater(t, of(boxed, "locked"), 0.9, "all of the cell is kept for one decision after the other")
	require.Greater(t, of(boxed, "batch wait / s"), 2*of(hoards, "batch wait / s"))
	for _, m := range []manner{timed, fair} { // shorter than it thinks: it never gets anything
		require.Greater(t, of(m, "service unplaced"), 30.0, m)
	}
	for _, m := range []manner{filtered, asks, shown, optimist} {
		require.Less(t, of(m, "service unplaced"), 20.0, m)
	}
	require.Less(t, of(asks, "service wait / s"), of(hoards, "service wait / s"))
}
