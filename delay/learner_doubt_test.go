package delay_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
)

// Jobs of one task do too, and those that were never told how many they have.
func TestLearner_TriesFarNodesNowAndThen(t *testing.T) {
	for name, tt := range map[string]struct{ tasks, launches int }{
		"one task":   {tasks: 1, launches: 1},
		"two":        {tasks: 2, launches: 2},
		"never told": {launches: 2},
	} {
		t.Run(name, func(t *testing.T) {
			l := knowing(t)
			far, launches := 0, 0
			for launches < 1024 {
				job, err := delay.New(delay.Policy{Learn: l})
				require.NoError(t, err)
				if tt.tasks > 0 {
					job.SetPending(tt.tasks)
				}
				for range tt.launches {
					launches++
					if offer(t, &job, 1, launches) {
						far++
					} else {
						require.True(t, offer(t, &job, 0, launches))
					}
				}
			}
			require.InDelta(t, 3, far, 1)
		})
	}
}

// Who waits for long, and gets what it waits for, would never know what for.
func TestLearner_FindsOutWhatALongWaitIsFor(t *testing.T) {
	l := new(delay.Learner)
	p := delay.Policy{Learn: l, Waits: delay.Waits{time.Hour}}
	q, err := delay.NewQueue[int](p, nil)
	require.NoError(t, err)
	far := 0
	for i := range 500 {
		now := at(60 * i)
		require.NoError(t, q.Add(i, []locality.Node{a}))
		launch, ok, err := q.Offer(now, b)
		require.NoError(t, err)
		if !ok {
			launch, ok, err = q.Offer(now.Add(30*time.Second), a)
			require.NoError(t, err)
			require.True(t, ok)
		}
		far += int(launch.Level)
		ran(t, time.Duration(10+10*launch.Level)*time.Second, launch.Level, l)
	}
	gain, expected, ok := l.Expect(0, 1)
	require.True(t, ok)
	require.Equal(t, 10*time.Second, gain)
	require.Greater(t, expected, gain)
	require.Greater(t, far, 300, "it does not wait any more")
}

// Nor would it see in time that there is nothing to gain any more.
func TestLearner_ForgetsWhatFarNodesWereLike(t *testing.T) {
	l := new(delay.Learner)
	for range 64 {
		ran(t, 10*time.Second, 0, l)
		ran(t, 30*time.Second, 1, l)
	}
	for i := range 40 * 256 {
		ran(t, 10*time.Second, locality.Level(i%256/255), l)
	}
	gain, _, ok := l.Expect(0, 1)
	require.True(t, ok)
	require.Less(t, gain, time.Second)
}

// What may be chance is not learned: run times vary by more than they differ.
func TestLearner_WaitsAsThePolicySaysForWhatMayBeChance(t *testing.T) {
	for further, want := range map[time.Duration]time.Duration{
		0: 7 * time.Second, 3 * time.Second: 7 * time.Second, 20 * time.Second: time.Minute,
	} {
		l := new(delay.Learner)
		for i := range 64 {
			run := time.Duration(i%2) * time.Minute
			ran(t, run, 0, l)
			ran(t, run+further, 1, l)
		}
		job, err := delay.New(delay.Policy{Learn: l, Waits: delay.Waits{7 * time.Second}})
		require.NoError(t, err)
		require.InDelta(t, want.Seconds(), wait(t, &job, 0).Seconds(), 1e-3, "by %v", further)
	}
}
