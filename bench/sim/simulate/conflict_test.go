package simulate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/sim/simulate"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// meeting is a batch and a service job of three tasks each that come to one
// machine of four CPUs at the same time. The batch job is committed first, after
// one second; the service job's decisions take two.
func meeting(at time.Duration) []simulate.Job {
	job := simulate.Job{Submit: at, Tasks: 3, Duration: 10 * time.Second, Need: resources.Vector{1000}}
	service := job
	service.Class = simulate.Service
	return []simulate.Job{job, service}
}

func meet(t *testing.T, horizon time.Duration, detect omega.Detection, gang bool, jobs ...simulate.Job) *simulate.Metrics {
	t.Helper()
	a := simulate.SharedState(simulate.Think{Job: time.Second}, simulate.Think{Job: 2 * time.Second}, 1)
	a.Detect, a.Gang = detect, gang
	m, err := simulate.Run(t.Context(), simulate.Config{
		Cell: simulate.Cell{Machines: 1, Capacity: resources.Vector{4000}}, Jobs: jobs, Architecture: a, Horizon: horizon,
	})
	require.NoError(t, err)
	return m
}

// Two schedulers, one machine: each number can be had by hand. A claim that is
// refused makes its whole attempt a conflict, and its time wasted, even if others were
// granted.
func TestRun_CountsConflictsByAttempt(t *testing.T) {
	tests := map[string]struct {
		detect          omega.Detection
		gang            bool
		work            simulate.Work
		refused, noRoom int
	}{
		// At 2 s one task is granted and two are refused; at 3, 6 and 9 s there is
		// no room, at 12 s there is.
		"fit": {work: simulate.Work{
			Useful: 2 * time.Second, Wasted: 8 * time.Second, Succeeded: 1, Conflicted: 1,
		}, refused: 2, noRoom: 3},
		// The one is refused with the others.
		"fit, gang": {gang: true, work: simulate.Work{
			Useful: 2 * time.Second, Wasted: 8 * time.Second, Succeeded: 1, Conflicted: 1,
		}, refused: 3, noRoom: 3},
		// All three are refused, since the machine is another than it was; the one
		// that fits is granted at the second attempt.
		"claims": {detect: omega.CoarseClaims, work: simulate.Work{
			Useful: 4 * time.Second, Wasted: 6 * time.Second, Succeeded: 2, Conflicted: 1,
		}, refused: 3, noRoom: 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := meet(t, 0, tt.detect, tt.gang, meeting(0)...)
			batch, service := m.Classes[simulate.Batch], m.Classes[simulate.Service]
			require.Equal(t, simulate.Work{Useful: time.Second, Succeeded: 1}, batch.Work)
			require.Equal(t, tt.work, service.Work)
			require.Equal(t, []int{3, tt.refused, tt.noRoom}, []int{service.Granted, service.Refused, service.NoRoom})
			require.Equal(t, 12*time.Second, service.WaitFull.Mean)
			require.Zero(t, service.QueuedFull.Mean)
			require.Equal(t, service.Work, m.Schedulers[1].Work)
		})
	}
}

// On the first and the third of four days there are transactions: as many
// conflicts as successes, then half as many.
func TestDaily_HasNoConflictFractionForADayWithoutATransaction(t *testing.T) {
	const day = 24 * time.Hour
	alone := meeting(2*day + time.Hour)[1]
	m := meet(t, 4*day, omega.Fine, false, append(append(meeting(0), meeting(2*day)...), alone)...)
	_, conflicts := m.Daily(simulate.Service)
	require.Equal(t, simulate.Median{Value: 0.75, MAD: 0.25}, conflicts)
	require.InDelta(t, 2.0/3, m.Classes[simulate.Service].Conflicts(), 1e-12)
}

// Two jobs at a time for two schedulers: by a hash every second pair meets at
// one of them, and one job of it waits for the other. In turns none would.
func TestRun_SpreadsJobsByHash(t *testing.T) {
	const pairs = 400
	cfg := simulate.Config{
		Cell:         simulate.Cell{Machines: 1, Capacity: resources.Vector{4000}},
		Architecture: simulate.SharedState(simulate.Think{Job: time.Second}, simulate.Think{}, 2),
	}
	for i := range 2 * pairs {
		cfg.Jobs = append(cfg.Jobs, simulate.Job{Submit: time.Duration(i/2) * time.Minute, Tasks: 1, Need: resources.Vector{1000}})
	}
	m, err := simulate.Run(t.Context(), cfg)
	require.NoError(t, err)
	require.InDelta(t, 0.25, m.Classes[simulate.Batch].Wait.Mean.Seconds(), 0.04)
	require.InDelta(t, pairs, m.Schedulers[0].Succeeded, 0.1*pairs)
}

// Schedulers draw machines each by numbers of its own: with those of the other
// the second would find every machine that it has picked claimed.
func TestRandomFit_IsDrawnByEachSchedulerForItself(t *testing.T) {
	job := simulate.Job{Tasks: 20, Need: resources.Vector{1000}}
	service := job
	service.Class = simulate.Service
	m, err := simulate.Run(t.Context(), simulate.Config{
		Cell:         simulate.Cell{Machines: 1000, Capacity: resources.Vector{1000}},
		Jobs:         []simulate.Job{job, service},
		Architecture: simulate.SharedState(simulate.Think{Job: time.Second}, simulate.Think{Job: time.Second}, 1),
		Horizon:      time.Second,
	})
	require.NoError(t, err)
	require.Equal(t, 20, m.Classes[simulate.Batch].Granted)
	require.GreaterOrEqual(t, m.Classes[simulate.Service].Granted, 17)
}
