package loop_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

// slow is a store that takes a second to commit.
type slow struct{ omega.Local }

func (s slow) Commit(ctx context.Context, tx *omega.Txn) (int, error) {
	time.Sleep(time.Second)
	return s.Local.Commit(ctx, tx)
}

func TestCounts_HaveTheTimeOfAnAttemptOnce(t *testing.T) {
	for name, run := range map[string]func(*testing.T, *loop.Loop[string]){
		"Run": func(t *testing.T, l *loop.Loop[string]) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			require.Error(t, l.Run(ctx))
		},
		"Step": func(t *testing.T, l *loop.Loop[string]) {
			t.Helper()
			for range 9 {
				next, ok, err := l.Step(t.Context(), time.Now())
				require.NoError(t, err)
				if ok {
					time.Sleep(time.Until(next))
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cell := newCell(t, 2)
				l, err := loop.New(loop.Config[string]{
					Store: slow{omega.Local{Scheduler: register(t, cell, "slow")}},
					Think: func(*loop.Job[string], int) time.Duration { return 2 * time.Second },
				})
				require.NoError(t, err)
				for _, key := range []string{"a", "b"} {
					_, err = l.Submit(time.Now(), loop.Job[string]{Key: key, Tasks: 1, Need: resources.Vector{1}})
					require.NoError(t, err)
				}
				run(t, l)
				stats := l.Stats()
				require.EqualValues(t, 2, stats.Placed)
				c := stats.Counts()
				require.True(t, c.Counted.Commits)
				require.EqualValues(t, 2, c.Placed.Count())
				require.Equal(t, stats.Useful, c.Placed.Sum)
				if name == "Run" {
					require.Equal(t, 6*time.Second, c.Placed.Sum)
				}
			})
		})
	}
}

// An allocation that is lost with its machine was not preempted.
func TestCounts_TellPreemptedFromLost(t *testing.T) {
	cell := newCell(t, 1, 1)
	r := newRig(t, cell, loop.Config[string]{})
	r.submit(t, time.Unix(1, 0), loop.Job[string]{Key: "a", Tasks: 2, Need: resources.Vector{1}})
	r.settle(t, time.Unix(1, 0))
	id, _ := cell.Machine("m0")
	_, err := cell.Remove(id)
	require.NoError(t, err)
	r.settle(t, time.Unix(2, 0))
	stats := r.Stats()
	require.EqualValues(t, 1, stats.Preempted)
	require.Zero(t, stats.Counts().Preempted)
}

// drained is a store with a machine that is drained before each commit.
type drained struct {
	omega.Local
	machine omega.MachineID
}

func (s drained) Commit(ctx context.Context, tx *omega.Txn) (int, error) {
	if err := s.Local.Scheduler.Cell().Drain(s.machine); err != nil {
		return 0, err
	}
	return s.Local.Commit(ctx, tx)
}

// The loop and its scheduler count a refusal by the same reason.
func TestCounts_HaveTheReasonOfTheScheduler(t *testing.T) {
	cell := newCell(t, 1, 4)
	s := register(t, cell, "s")
	id, _ := cell.Machine("m0")
	l, err := loop.New(loop.Config[string]{Store: drained{omega.Local{Scheduler: s}, id}})
	require.NoError(t, err)
	_, err = l.Submit(time.Unix(1, 0), loop.Job[string]{Key: "a", Tasks: 1, Need: resources.Vector{1}})
	require.NoError(t, err)
	now := time.Unix(1, 0)
	for range 2 {
		next, ok, err := l.Step(t.Context(), now)
		require.NoError(t, err)
		if ok {
			now = next
		}
	}
	stats := l.Stats()
	require.Equal(t, s.Stats().Refused, stats.Counts().Refused)
	require.Equal(t, []observe.Refusal{{Reason: "draining", Count: 1}}, stats.Counts().Refused)
	require.Equal(t, s.Stats().Retries, stats.Counts().Retries)
}
