package simulate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/sim/simulate"
	"github.com/cellsched/cellsched/resources"
)

// decisions is a run of one scheduler that takes that long over each job.
func decisions(t *testing.T, takes, horizon time.Duration, submitted ...time.Duration) *simulate.Metrics {
	t.Helper()
	cfg := simulate.Config{
		Cell:         simulate.Cell{Machines: 1, Capacity: resources.Vector{4000}},
		Architecture: simulate.SinglePath(simulate.Think{Job: takes}), Horizon: horizon,
	}
	for _, at := range submitted {
		cfg.Jobs = append(cfg.Jobs, simulate.Job{Submit: at, Tasks: 1, Duration: time.Second, Need: resources.Vector{1000}})
	}
	m, err := simulate.Run(t.Context(), cfg)
	require.NoError(t, err)
	return m
}

// The second decision ends on the third day, and the third is on all of them.
func TestDaily_SplitsADecisionAtMidnight(t *testing.T) {
	m := decisions(t, 14*time.Hour, 72*time.Hour, 23*time.Hour, 23*time.Hour, 62*time.Hour-time.Minute)
	require.Equal(t, []simulate.Work{
		{Useful: time.Hour},
		{Useful: 24 * time.Hour, Succeeded: 1},
		{Useful: 3 * time.Hour, Succeeded: 1},
	}, m.Schedulers[0].Days, "what does not end within the run is not counted")
	busy, _ := m.Daily(simulate.Batch)
	require.InDelta(t, 3.0/24, busy.Value, 1e-12)
	require.InDelta(t, 2.0/24, busy.MAD, 1e-12)
}

func TestDaily_LeavesOutADayThatIsCutShort(t *testing.T) {
	m := decisions(t, time.Hour, 24*time.Hour+time.Minute, 0, 24*time.Hour-59*time.Minute)
	busy, _ := m.Daily(simulate.Batch)
	require.InDelta(t, (1+59.0/60)/24, busy.Value, 1e-12)
	require.Zero(t, busy.MAD)

	busy, _ = decisions(t, time.Hour, 2*time.Hour, 0).Daily(simulate.Batch)
	require.InDelta(t, 0.5, busy.Value, 1e-12, "the only day")
}

// All come at once, and each is decided on for a second.
func TestSummary_HasTheQuantilesOfWaits(t *testing.T) {
	want := simulate.Summary{Count: 100, Mean: 49500 * time.Millisecond, P90: 89 * time.Second, P99: 98 * time.Second}
	batch := decisions(t, time.Second, 0, make([]time.Duration, 100)...).Classes[simulate.Batch]
	require.Equal(t, []simulate.Summary{want, want, want}, []simulate.Summary{batch.Wait, batch.WaitFull, batch.QueuedFull})
}

func TestConflicts_WithoutASuccessAreCounted(t *testing.T) {
	require.InDelta(t, 3, (&simulate.Work{Conflicted: 3}).Conflicts(), 0)
	require.InDelta(t, 1.5, (&simulate.Work{Conflicted: 3, Succeeded: 2}).Conflicts(), 0)
	require.Zero(t, (&simulate.Work{}).Conflicts())
}
