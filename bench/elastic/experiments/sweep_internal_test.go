package experiments

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/elastic"
)

// The summary is that of the workloads run one by one.
func TestSweep_IsTheMeanOfItsSeeds(t *testing.T) {
	const span = 12 * time.Minute
	rows, err := Sweep(t.Context(), Options{Seeds: 2, Span: span, Parallel: 2})
	require.NoError(t, err)
	require.Len(t, rows, 8)

	const relative = 1
	one, err := Compare(t.Context(), Quiet(1, span))
	require.NoError(t, err)
	two, err := Compare(t.Context(), Quiet(2, span))
	require.NoError(t, err)
	got := rows[4+relative]
	require.Equal(t, []any{"quiet", 125, "relative size 4", 2}, []any{got.Cell, got.Machines, got.Policy, got.Seeds})
	a, b := one[relative], two[relative]
	for _, figure := range []struct {
		got  Spread
		a, b float64
	}{
		{got.Jobs, float64(len(a.Took)), float64(len(b.Took))},
		{got.Gained, a.Gained(), b.Gained()},
		{got.Slowed, a.Slowed(), b.Slowed()},
		{got.SpeedupP50, a.Speedup(50), b.Speedup(50)},
		{got.SpeedupP80, a.Speedup(80), b.Speedup(80)},
		{got.SpeedupP95, a.Speedup(95), b.Speedup(95)},
		{got.Preempted, float64(a.Preempted), float64(b.Preempted)},
		{got.Waited, float64(a.Waited), float64(b.Waited)},
		{got.Distribution[2].Jobs, a.Below(2), b.Below(2)},
		{got.Utilisation.Mean, a.Utilisation().Mean, b.Utilisation().Mean},
		{got.Utilisation.Deviation, a.Utilisation().Deviation, b.Utilisation().Deviation},
		{got.Utilisation.Low, a.Utilisation().Low, b.Utilisation().Low},
		{got.Utilisation.High, a.Utilisation().High, b.Utilisation().High},
		{got.Utilisation.Step, a.Utilisation().Step, b.Utilisation().Step},
	} {
		require.Equal(t, Spread{(figure.a + figure.b) / 2, min(figure.a, figure.b), max(figure.a, figure.b)}, figure.got)
	}
	require.NotEqual(t, a.Took, b.Took, "or the test shows nothing")
	require.Positive(t, got.Preempted.Mean)
}

func TestSweep_RejectsInvalidArguments(t *testing.T) {
	for _, o := range []Options{{Seeds: -1}, {Span: -1}, {Parallel: -1}} {
		rows, err := Sweep(t.Context(), o)
		require.ErrorContains(t, err, "want 0 or more")
		require.Nil(t, rows)
	}
}

// A run ends in the middle, and not only between two of them.
func TestRun_EndsWithTheContext(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	r, err := start(Quiet(1, time.Hour), elastic.Policy{})
	require.NoError(t, err)
	events := 0
	result, err := r.finish(ctx, func() error {
		if events++; r.now >= 30*time.Minute {
			cancel(why)
		}
		return nil
	})
	require.ErrorIs(t, err, why)
	require.ErrorContains(t, err, `workload "quiet", 30m`)
	require.Zero(t, result)
	require.Positive(t, events)

	rows, err := Compare(ctx, Quiet(1, time.Hour))
	require.ErrorIs(t, err, why)
	require.Nil(t, rows)
	summaries, err := Sweep(ctx, Options{})
	require.ErrorIs(t, err, why)
	require.Nil(t, summaries)
}
