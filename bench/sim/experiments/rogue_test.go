package experiments_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/race"
	"github.com/cellsched/cellsched/bench/sim/experiments"
	"github.com/cellsched/cellsched/bench/sim/simulate"
)

// The statements of the documentation of Rogue, over a shorter time.
func TestRogue_IsFoundAndContained(t *testing.T) {
	if race.Detector {
		t.Skip("a run has one goroutine, and this takes many of them")
	}
	rows, err := experiments.Rogue(t.Context(), experiments.Options{Horizon: time.Hour, Parallel: 2})
	require.NoError(t, err)
	by := make(map[string]map[string]experiments.RogueRow)
	for _, r := range rows {
		if by[r.Rogue] == nil {
			by[r.Rogue] = make(map[string]experiments.RogueRow)
		}
		by[r.Rogue][r.Measure] = r
		require.Zero(t, r.Accused, "%s, %s: somebody honest was named", r.Rogue, r.Measure)
		require.LessOrEqual(t, r.Share+r.RogueShare, 1.0, "of one cell")
		require.Positive(t, r.RogueShare)
		require.Equal(t, by["none"]["none"].Submitted, r.Submitted, "the others do as they did")
	}
	require.Len(t, by, 5)

	alone := by["none"]["none"]
	for measure, r := range by["none"] {
		require.Zero(t, r.FoundIn, measure)
	}
	for _, name := range []string{"keeps all for an hour", "takes what is idle"} {
		require.Equal(t, 1, by[name]["none"].FoundIn, name)
		require.Greater(t, by[name]["none"].Found, 20*time.Minute.Seconds()-1, "it takes as many audits")
	}
	for name, measures := range by {
		if name == "none" {
			continue
		}
		lost := loss(measures["none"])
		require.Greater(t, lost, 10*loss(alone), name)
		require.Less(t, loss(measures["preemption"]), lost, name)
		require.Positive(t, measures["preemption"].RoguePreempted, name)
		require.Less(t, loss(measures["limits"]), lost, name)
		require.LessOrEqual(t, measures["limits"].RogueShare, 0.2, name)
		require.Greater(t, loss(measures["gate, not asked"]), loss(measures["gate"]), name)
		if name != "takes what is idle" { // it takes while no scheduler waits
			require.Less(t, loss(measures["gate"]), lost, name)
		}
	}
}

// loss is the mean wait of the others. A job that is left counts as a wait of an hour.
func loss(r experiments.RogueRow) float64 {
	return r.Full*(1-r.Left/r.Submitted) + time.Hour.Seconds()*r.Left/r.Submitted
}

func TestRogue_IsTheSameHoweverManyAtATime(t *testing.T) {
	o := experiments.Options{Seeds: 2, Horizon: time.Minute}
	one, err := experiments.Rogue(t.Context(), o)
	require.NoError(t, err)
	o.Parallel = 3
	three, err := experiments.Rogue(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, one, three)
}

func TestRogue_StopsWithTheContext(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	rows, err := experiments.Rogue(ctx, experiments.Options{})
	require.ErrorIs(t, err, why)
	require.Nil(t, rows)

	_, err = experiments.Rogue(t.Context(), experiments.Options{Seeds: -1})
	require.ErrorIs(t, err, simulate.ErrConfig)
}
