package experiments_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/race"
	"github.com/cellsched/cellsched/bench/sim/experiments"
	"github.com/cellsched/cellsched/bench/sim/simulate"
)

// Figure 7 of the Omega paper, by shape, over a quarter of an hour. Services that
// think for long lock the free room, so that batch jobs wait. Each of the
// remedies has its effect.
func TestTwoLevel_HasTheShapeOfThePaper(t *testing.T) {
	if race.Detector {
		t.Skip("40 runs with hundreds of offers for each decision")
	}
	const horizon = 15 * time.Minute
	rows, err := experiments.TwoLevel(t.Context(), experiments.Options{Horizon: horizon, Parallel: 2})
	require.NoError(t, err)
	require.Len(t, rows, 40)
	by := make(map[string][]*experiments.Row) // by t_job of services
	for i := range rows {
		name := rows[i].Mode
		if name == "" {
			name = rows[i].Architecture
		}
		by[name] = append(by[name], &rows[i])
	}
	require.Len(t, by, 8)
	const tenSeconds, hundred = 2, 4 // in the sweep
	at := func(name string, c simulate.Class, i int) *experiments.Outcome { return &by[name][i].Class[c] }
	flat := at("omega", simulate.Batch, 0).Full
	require.Equal(t, flat, at("omega", simulate.Batch, hundred).Full)

	slow := at(experiments.Without, simulate.Batch, hundred)
	require.Greater(t, slow.Full, 100*flat)
	require.Greater(t, at(experiments.Without, simulate.Batch, tenSeconds).Full, 20*flat)
	require.Greater(t, slow.Busyness, 2*at(experiments.Without, simulate.Batch, 0).Busyness, "it tries again and again")
	require.Greater(t, at(experiments.Without, simulate.Service, hundred).Locked, 0.9*(1-by[experiments.Without][hundred].CPU))
	require.Greater(t, slow.Submitted-slow.Placed, 0.1*slow.Submitted)

	for name, less := range map[string]float64{"timeout 30 s": 100, "fair share": 4, "filter": 100, "gang offer": 100, "optimistic": 100} {
		require.Less(t, at(name, simulate.Batch, hundred).Full, slow.Full/less, name)
		require.Less(t, at(name, simulate.Batch, hundred).Busyness, slow.Busyness, name)
	}
	require.Zero(t, at("timeout 30 s", simulate.Service, hundred).Placed)
	require.Positive(t, at("timeout 30 s", simulate.Service, hundred).Conflicted)
	require.Less(t, at("filter", simulate.Service, hundred).Locked, 1.0/8)
	require.Less(t, at("gang offer", simulate.Service, hundred).Locked, 1e-4)
	require.Zero(t, at("optimistic", simulate.Service, hundred).Locked+at("optimistic", simulate.Batch, hundred).Locked)
	for _, name := range []string{"gang offer", "optimistic"} {
		require.InEpsilon(t, at("omega", simulate.Service, tenSeconds).Placed, at(name, simulate.Service, tenSeconds).Placed, 0.15, name)
	}
	for i := range by[experiments.Without] {
		r := by[experiments.Without][i]
		for c := range simulate.Classes {
			require.InDelta(t, r.Class[c].Locked, r.Schedulers[c].Locked, 1e-12)
		}
	}
}

// It is the cell of figures 5 and 6 in larger pieces.
func TestOffered_MatchesTheLoadedCell(t *testing.T) {
	small, large := experiments.Loaded(), experiments.Offered()
	require.Equal(t, small.Cell.Capacity.Scale(int64(small.Cell.Machines)), large.Cell.Capacity.Scale(int64(large.Cell.Machines)))
	require.Equal(t, small.Sources, large.Sources)
	require.InDelta(t, small.Cell.Prefill, large.Cell.Prefill, 0)
}
