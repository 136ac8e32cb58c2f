package experiments

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/race"
)

func TestSweep_IsTheSameHoweverManyAtATime(t *testing.T) {
	t.Parallel()
	seeds := 2
	if race.Detector {
		seeds = 1 // and only the tests that run in parallel
	}
	runs := 0
	rows, err := Sweep(t.Context(), Options{Seeds: seeds, Parallel: 3, Done: func(ended, all int) {
		runs++
		require.Equal(t, []int{runs, 4 * seeds}, []int{ended, all})
	}}, "locality")
	require.NoError(t, err)
	if !race.Detector {
		alone, err := Sweep(t.Context(), Options{Seeds: seeds}, "locality")
		require.NoError(t, err)
		require.Equal(t, alone, rows)
	}
	require.Equal(t, 4*seeds, runs)
	for _, row := range rows {
		require.Equal(t, "locality", row.Experiment)
		require.Equal(t, seeds, row.Seeds)
		for _, f := range row.Figures {
			require.InDelta(t, (f.Least+f.Most)/2, f.Mean, 1e-9, "of two seeds, or of one")
		}
	}
}

func TestSweep_RejectsInvalidArguments(t *testing.T) {
	for _, o := range []Options{{Seeds: -1}, {Parallel: -1}} {
		_, err := Sweep(t.Context(), o)
		require.ErrorContains(t, err, "want 0 or more")
	}
	_, err := Sweep(t.Context(), Options{}, "model", "scale")
	require.ErrorContains(t, err, `experiment "scale": want one of ["model" "incentives" "sharing" "locality" "pathologies"]`)
}

var errEnough = errors.New("enough")

func TestRuns_EndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	for _, name := range Names() {
		rows, err := Sweep(ctx, Options{}, name)
		require.ErrorIs(t, err, errEnough, name)
		require.Nil(t, rows)
	}
	_, err := Scale(ctx, ScaleOptions{Machines: 10, Frameworks: 2})
	require.ErrorIs(t, err, errEnough)
}

func TestScale_KeepsTheCellFull(t *testing.T) {
	t.Parallel()
	r, err := Scale(t.Context(), ScaleOptions{Machines: 500, Frameworks: 20, Tasks: 50, Seed: 1})
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

// The bar for memory, at the paper's size. That for time depends on the machine: see
// bench/README.md.
func TestScale_FitsInMemory(t *testing.T) {
	if testing.Short() || race.Detector {
		t.Skip("it takes seconds, and the race detector has memory of its own")
	}
	r, err := Scale(t.Context(), ScaleOptions{Tasks: 20, Seed: 1})
	require.NoError(t, err)
	require.Equal(t, []int{50_000, 200}, []int{r.Machines, r.Frameworks})
	require.Equal(t, 100_000, r.Running)
	require.LessOrEqual(t, r.Bytes, uint64(500_000_000))
}

func TestScale_RejectsInvalidArguments(t *testing.T) {
	for _, o := range []ScaleOptions{{Machines: -1}, {Frameworks: -1}, {Tasks: -1}} {
		_, err := Scale(t.Context(), o)
		require.ErrorContains(t, err, "want 0 or more")
	}
	_, err := Scale(t.Context(), ScaleOptions{Machines: 10})
	require.ErrorContains(t, err, "10 machines for 200 frameworks")
}
