package experiments

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/race"
	"github.com/cellsched/cellsched/bench/internal/recordings"
)

// measured runs a load for a while and returns the means by policy, without the
// figures that depend on the machine.
func measured(t *testing.T, span time.Duration, seeds, parallel int, loads ...string) []Row {
	t.Helper()
	if race.Detector {
		t.Skip("a run is one goroutine, and slow under the race detector")
	}
	rows, err := Sweep(t.Context(), Options{Span: span, Parallel: parallel, Seeds: seeds}, loads...)
	require.NoError(t, err)
	for i := range rows {
		rows[i].Figures = slices.DeleteFunc(rows[i].Figures, func(f Figure) bool { return f.Name == Decision || f.Name == Worst })
	}
	return rows
}

func TestSweep_IsTheSameHoweverManyRunsAtATime(t *testing.T) {
	one := measured(t, 2*time.Minute, 2, 1, "narrow", "synthetic")
	require.Equal(t, one, measured(t, 2*time.Minute, 2, 3, "narrow", "synthetic"))
	require.Len(t, one, 2*len(policies()))
	require.Equal(t, "synthetic", one[0].Load, "in the order of the loads")
	for _, r := range one {
		require.Equal(t, 2, r.Seeds)
		f := r.Figure(Mean)
		require.Less(t, f.Least, f.Mean)
		require.Less(t, f.Mean, f.Most)
	}
}

// The results that the paper, and common sense, expect for these loads.
func TestSweep_FindsTheWinner(t *testing.T) {
	by := make(map[string]*Row)
	rows := measured(t, 10*time.Minute, 1, 2, "narrow")
	for i := range rows {
		by[rows[i].Policy] = &rows[i]
	}
	is := func(policy, figure string) float64 { return by[policy].Figure(figure).Mean }

	for _, p := range pairs() {
		require.Less(t, is(p[1], CoreGB), is(p[0], CoreGB), "less over the core switch: %s", p[1])
		require.Less(t, is(p[1], Mean), 1.1*is(p[0], Mean), "and not much later: %s", p[1])
	}
	require.Greater(t, is(GreedyFairPreempts, CoreGB), 2*is(QuincyFairPreempts, CoreGB))
	for _, p := range []string{GreedyFairPreempts, QuincyFairPreempts} {
		require.Greater(t, is(p, Jain), 0.99, "shares are had at once: %s", p)
		require.Positive(t, is(p, Stopped))
		require.Positive(t, is(p, Lost))
	}
	for _, p := range []string{Greedy, GreedyFair, Delay, Quincy, QuincyFair} {
		require.Zero(t, is(p, Stopped), p)
		require.Zero(t, is(p, Lost), p)
	}
	for _, p := range [][2]string{{Greedy, GreedyFair}, {Quincy, QuincyFair}, {QuincyPreempts, QuincyFairPreempts}} {
		require.Less(t, is(p[0], Jain), is(p[1], Jain), "fair is fairer: %s", p[1])
		require.Greater(t, is(p[0], Unfair), is(p[1], Unfair), "fair is fairer: %s", p[1])
		require.Greater(t, is(p[0], Small), is(p[1], Small), "small jobs gain: %s", p[1])
	}
	require.Greater(t, is(Delay, AtData), is(GreedyFair, AtData)+10, "to wait brings tasks to their data")
	for _, r := range rows {
		for _, share := range []string{CoreShare, RackShare, AtData, InRack, Lost} {
			require.LessOrEqual(t, r.Figure(share).Most, 100.0)
		}
		require.LessOrEqual(t, r.Figure(Speed).Most, 1.0)
	}
}

// Every plan is proved optimal. Prices that went apart from round to round made
// them wrong from the tenth minute on.
func TestPlanned_IsOptimalForLong(t *testing.T) {
	if race.Detector {
		t.Skip("a run is one goroutine, and slow under the race detector")
	}
	s, err := synthetic(Options{}, 8, 12*time.Minute, 1, wide, costs(2))
	require.NoError(t, err)
	p, err := newPlanned(s.cell, s.costs, true, false, true)
	require.NoError(t, err)
	require.NoError(t, newWorld(s.cell, p, every).simulate(t.Context(), s.jobs))
}

func TestSweep_RejectsInvalidArguments(t *testing.T) {
	for text, o := range map[string]Options{
		"-1 seeds":       {Seeds: -1},
		"-2 in parallel": {Parallel: -2},
		"for -1s":        {Span: -time.Second},
	} {
		_, err := Sweep(t.Context(), o, "narrow")
		require.ErrorContains(t, err, text)
	}
	_, err := Sweep(t.Context(), Options{}, "wide")
	require.ErrorContains(t, err, `load "wide": want one of ["synthetic" "narrow" "batch" "facebook" "hadoop"]`)
	_, err = Sweep(t.Context(), Options{Data: t.TempDir()}, "facebook")
	require.ErrorContains(t, err, "facebook, greedy, seed 1: ")
	_, err = Sweep(t.Context(), Options{Data: t.TempDir()}, "hadoop")
	require.ErrorContains(t, err, "hadoop, greedy, seed 1: ")
	rows, err := Sweep(t.Context(), Options{})
	require.NoError(t, err)
	require.Empty(t, rows, "nothing is asked for")

	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err = Sweep(ctx, Options{}, "narrow")
	require.ErrorIs(t, err, cause)
}

func TestSweep_RunsRecordings(t *testing.T) {
	o := Options{Data: filepath.Dir(recordings.Find(t, "swim-facebook")), Span: time.Minute}
	if race.Detector {
		t.Skip("a run is one goroutine, and slow under the race detector")
	}
	rows, err := Sweep(t.Context(), o, "facebook", "hadoop")
	require.NoError(t, err)
	require.Len(t, rows, 2*len(policies()))
	for _, r := range rows {
		require.Positive(t, r.Figure(Mean).Mean)
		require.Greater(t, r.Figure(AtData).Mean, 30.0)
	}
}

func TestLoads_ReportMissingLoads(t *testing.T) {
	names, missing := Loads(t.TempDir())
	require.Equal(t, []string{"synthetic", "narrow", "batch", "facebook", "hadoop"}, names)
	require.Len(t, missing, 2)
	require.Error(t, missing["facebook"])
	require.Error(t, missing["hadoop"])
	for _, name := range names {
		require.NotEmpty(t, Shows(name))
	}
	require.Empty(t, Shows("other"))
}
