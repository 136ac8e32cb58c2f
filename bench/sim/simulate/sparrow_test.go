package simulate_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/sim/simulate"
	"github.com/cellsched/cellsched/resources"
)

func TestSparrow_RunsEveryTaskOnce(t *testing.T) {
	cfg := small(t, 1)
	m, err := simulate.Sparrow(t.Context(), cfg, simulate.SparrowConfig{})
	require.NoError(t, err)
	tasks := 0
	for i := range cfg.Jobs {
		tasks += cfg.Jobs[i].Tasks
	}
	require.Equal(t, tasks, m.Classes[0].Granted+m.Classes[1].Granted)
	require.Zero(t, m.Classes[0].Left()+m.Classes[1].Left())

	again, err := simulate.Sparrow(t.Context(), cfg, simulate.SparrowConfig{})
	require.NoError(t, err)
	require.Equal(t, m, again)
}

// Two machines, two tasks, four probes: late binding gives the second task to
// the machine that has room first, here the same machine.
func TestSparrow_BindsLate(t *testing.T) {
	need := resources.Vector{1000}
	cfg := simulate.Config{
		Cell: simulate.Cell{Machines: 2, Capacity: resources.Vector{1000}},
		Jobs: []simulate.Job{
			{Tasks: 1, Duration: time.Hour, Need: need},
			{Submit: time.Second, Tasks: 2, Duration: time.Minute, Need: need},
		},
	}
	m, err := simulate.Sparrow(t.Context(), cfg, simulate.SparrowConfig{RoundTrip: time.Millisecond})
	require.NoError(t, err)
	batch := m.Classes[simulate.Batch]
	require.Equal(t, time.Millisecond, batch.Wait.Mean)
	// The first job's one task, and after a minute and two round trips the
	// second's second.
	require.Equal(t, time.Minute+2*time.Millisecond, batch.WaitFull.P99)
}

// One probe for each task and no choice: batch sampling makes it wait
// less.
func TestSparrow_WaitsLessWithMoreProbes(t *testing.T) {
	wait := func(probes int) time.Duration {
		cfg := small(t, 3)
		cfg.Cell.Prefill = 0.5
		m, err := simulate.Sparrow(t.Context(), cfg, simulate.SparrowConfig{Probes: probes})
		require.NoError(t, err)
		return m.Classes[simulate.Batch].WaitFull.Mean
	}
	require.Less(t, 3*wait(2), wait(1))
}

// A job alone can be many probes: they are cut short as well.
func TestSparrow_StopsWithTheContext(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	cfg := small(t, 1)
	cfg.Jobs = cfg.Jobs[:1]
	cfg.Jobs[0].Tasks = 100
	_, err := simulate.Sparrow(ctx, cfg, simulate.SparrowConfig{Probes: 1000})
	require.ErrorIs(t, err, why)
}

func TestSparrow_RejectsInvalidArguments(t *testing.T) {
	cfg := small(t, 1)
	for want, how := range map[string]simulate.SparrowConfig{
		"-1 probes, round trip 0s: want 0 or more": {Probes: -1},
		"1001 probes":     {Probes: 1001},
		"round trip -1ns": {RoundTrip: -1},
		"want 0 or more, up to 1000 and 878400h0m0s": {RoundTrip: math.MaxInt64},
	} {
		_, err := simulate.Sparrow(t.Context(), cfg, how)
		require.ErrorIs(t, err, simulate.ErrConfig)
		require.ErrorContains(t, err, want)
	}

	cfg.Cell.Prefill = 1
	_, err := simulate.Sparrow(t.Context(), cfg, simulate.SparrowConfig{})
	require.ErrorIs(t, err, simulate.ErrConfig)
	require.ErrorContains(t, err, "beside the prefill: want one")
}
