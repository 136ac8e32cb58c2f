package experiments_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/offers/experiments"
)

func TestSweep_IsTheSameHoweverManyAtATime(t *testing.T) {
	t.Parallel()
	one, err := experiments.Sweep(t.Context(), experiments.Options{Seeds: 2}, "locality")
	require.NoError(t, err)
	runs := 0
	two, err := experiments.Sweep(t.Context(), experiments.Options{Seeds: 2, Parallel: 3, Done: func(ended, all int) {
		runs++
		require.Equal(t, []int{runs, 8}, []int{ended, all})
	}}, "locality")
	require.NoError(t, err)
	require.Equal(t, one, two)
	require.Equal(t, 8, runs)
	for _, row := range one {
		require.Equal(t, "locality", row.Experiment)
		require.Equal(t, 2, row.Seeds)
		for _, f := range row.Figures {
			require.LessOrEqual(t, f.Least, f.Mean)
			require.LessOrEqual(t, f.Mean, f.Most)
		}
		took, ok := row.Figure("all read / s")
		require.True(t, ok)
		require.LessOrEqual(t, took.Least, took.Most)
	}
}

func TestSweep_RefusesWhatMakesNoSense(t *testing.T) {
	for _, o := range []experiments.Options{{Seeds: -1}, {Parallel: -1}} {
		_, err := experiments.Sweep(t.Context(), o)
		require.ErrorContains(t, err, "want 0 or more")
	}
	_, err := experiments.Sweep(t.Context(), experiments.Options{}, "model", "scale")
	require.ErrorContains(t, err, `experiment "scale": want one of ["model" "incentives" "sharing" "locality" "pathologies"]`)
}

var errEnough = errors.New("enough")

func TestRuns_EndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	for _, name := range experiments.Names() {
		rows, err := experiments.Sweep(ctx, experiments.Options{}, name)
		require.ErrorIs(t, err, errEnough, name)
		require.Nil(t, rows)
	}
	_, err := experiments.Scale(ctx, experiments.ScaleOptions{Machines: 10, Frameworks: 2})
	require.ErrorIs(t, err, errEnough)
}

func TestScale_KeepsTheCellFull(t *testing.T) {
	t.Parallel()
	r, err := experiments.Scale(t.Context(), experiments.ScaleOptions{Machines: 500, Frameworks: 20, Tasks: 50, Seed: 1})
	require.NoError(t, err)
	require.Equal(t, []int{500, 20, 50}, []int{r.Machines, r.Frameworks, r.Tasks})
	require.Equal(t, 1000, r.Running, "two slots each")
	require.Greater(t, r.Ended, 1000, "all that ran at first, at least")
	require.Positive(t, r.Virtual, "a task waits for another one to end")
	require.Less(t, r.Virtual.Seconds(), 0.3, "but for one only, of a thousand of 30 s")
	require.Positive(t, r.Real.P50)
	require.LessOrEqual(t, r.Real.P50, r.Real.P99)
	require.LessOrEqual(t, r.Real.P99, r.Real.Most)
	require.Positive(t, r.Bytes)
}

func TestScale_RefusesWhatMakesNoSense(t *testing.T) {
	for _, o := range []experiments.ScaleOptions{{Machines: -1}, {Frameworks: -1}, {Tasks: -1}} {
		_, err := experiments.Scale(t.Context(), o)
		require.ErrorContains(t, err, "want 0 or more")
	}
	_, err := experiments.Scale(t.Context(), experiments.ScaleOptions{Machines: 10})
	require.ErrorContains(t, err, "10 machines for 200 frameworks")
}
