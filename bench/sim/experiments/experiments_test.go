package experiments_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/race"
	"github.com/cellsched/cellsched/bench/sim/experiments"
	"github.com/cellsched/cellsched/bench/sim/simulate"
)

// Figures 5 and 6 of the Omega paper: by shape, over a quarter of an hour.
func TestArchitectures_HasTheShapeOfThePaper(t *testing.T) {
	runs := 0
	rows, err := experiments.Architectures(t.Context(), experiments.Options{
		Horizon: 15 * time.Minute, Parallel: 2, Done: func(_, all int) { runs = all },
	})
	require.NoError(t, err)
	require.Equal(t, 5*5+1, runs, "t_job is nothing to Sparrow")
	by := make(map[string][]experiments.Outcome) // of batch, by t_job of services
	for _, r := range rows {
		by[r.Architecture] = append(by[r.Architecture], r.Class[simulate.Batch])
	}
	require.Len(t, by, 6)
	single, multi, omega := by["single-path"], by["multi-path"], by["omega"]
	const tenSeconds, hundred = 2, 4 // in the sweep
	require.Greater(t, single[tenSeconds].Busyness, 0.9, "saturated")
	require.Less(t, multi[tenSeconds].Busyness, 0.8)
	require.Greater(t, multi[hundred].Busyness, 0.85)
	require.Greater(t, multi[tenSeconds].Wait, 10*multi[0].Wait, "behind services in the one queue")
	for _, name := range []string{"omega", "partitioned"} {
		for _, o := range by[name] {
			require.InEpsilon(t, omega[0].Wait, o.Wait, 0.05, name)
		}
	}
	for i, o := range by["two-level"] { // see figure 7
		locks := i >= tenSeconds
		require.Equal(t, locks, o.Full > 10*omega[0].Full)
	}
	var decided []time.Duration
	for _, r := range rows[5*5:] {
		require.Equal(t, "sparrow", r.Architecture)
		require.Equal(t, by["sparrow"][0], r.Class[simulate.Batch])
		decided = append(decided, r.TJob)
	}
	for i, tJob := range decided {
		require.Equal(t, rows[i].TJob, tJob)
	}
	require.Len(t, decided, 5)
}

// Figure 9 of the Omega paper: schedulers take the load off each other, and two
// of them already conflict, at least a quarter as often as 32.
func TestSchedulers_HasTheShapeOfThePaper(t *testing.T) {
	if race.Detector || testing.Short() {
		t.Skip("18 runs on 10,000 machines")
	}
	rows, err := experiments.Schedulers(t.Context(), experiments.Options{Horizon: 10 * time.Minute, Parallel: 2})
	require.NoError(t, err)
	require.Len(t, rows, 18)
	var alone, two experiments.Outcome
	for _, r := range rows {
		o := r.Class[simulate.Batch]
		switch r.Batch {
		case 1:
			alone = o
			require.Less(t, o.Conflicts, 0.02, "nobody but a few services to conflict with")
			continue
		case 2:
			two = o
		}
		require.InEpsilon(t, alone.Busyness/float64(r.Batch), o.Busyness, 0.2, "rate %v, %d schedulers", r.Rate, r.Batch)
		require.Greater(t, o.Conflicts, 0.5*two.Conflicts)
		require.Less(t, o.Conflicts, min(4*two.Conflicts, 0.45), "rate %v, %d schedulers", r.Rate, r.Batch)
	}
	last := rows[17].Class[simulate.Batch]
	require.Equal(t, []float64{16, 32}, []float64{rows[17].Rate, float64(rows[17].Batch)})
	require.Greater(t, alone.Busyness, 0.9)
	require.LessOrEqual(t, last.Busyness, 0.04)
	require.Greater(t, two.Conflicts, 0.15)
	require.InDelta(t, 0.375, last.Conflicts, 0.075, "the plateau of Google's simulator: 0.3 to 0.45")
}

// Which runs are at the same time does not matter.
func TestExperiment_IsTheSameHoweverManyAtATime(t *testing.T) {
	o := experiments.Options{Seeds: 2, Horizon: 2 * time.Minute}
	one, err := experiments.Modes(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, one, 12)

	told := 0
	o.Parallel, o.Done = 3, func(runs, all int) {
		told++
		require.Equal(t, []int{told, 24}, []int{runs, all})
	}
	three, err := experiments.Modes(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, one, three)
	require.Equal(t, 24, told)
}

func TestExperiment_StopsWithTheContext(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	for _, e := range experiments.All() {
		rows, err := e.Run(ctx, experiments.Options{})
		require.ErrorIs(t, err, why)
		require.Nil(t, rows)
	}
}

func TestExperiment_RejectsInvalidArguments(t *testing.T) {
	for _, o := range []experiments.Options{{Seeds: -1}, {Seeds: math.MaxInt}, {Horizon: -1}, {Parallel: -1}} {
		_, err := experiments.Load(t.Context(), o)
		require.ErrorIs(t, err, simulate.ErrConfig)
		require.ErrorContains(t, err, "want 0 or more, at most 10000 seeds")
	}
}
