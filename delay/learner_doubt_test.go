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

// A job that waits for long, and gets its node, would never learn the gain.
func TestLearner_ExploresDuringALongWait(t *testing.T) {
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

// Without run times of tasks it does not explore for ever.
func TestLearner_DoesNotTryForEver(t *testing.T) {
	p := delay.Policy{Learn: new(delay.Learner), Waits: delay.Waits{time.Hour}}
	far := 0
	for i := range 4096 {
		job, err := delay.New(p)
		require.NoError(t, err)
		job.SetPending(1)
		if offer(t, &job, 1, i) {
			far++
		} else {
			require.True(t, offer(t, &job, 0, i))
		}
	}
	require.InDelta(t, 16+15, far, 1)
}

// Nor would it see in time that there is nothing to gain any more.
func TestLearner_ForgetsOldRunsOfFarNodes(t *testing.T) {
	l := new(delay.Learner)
	for range 64 {
		ran(t, 10*time.Second, 0, l)
		ran(t, 30*time.Second, 1, l)
	}
	for i := range 40 * 256 {
		ran(t, 10*time.Second, locality.Level(i%256/255), l)
		_, _, ok := l.Expect(0, 1)
		require.True(t, ok, "after %d runs", i)
	}
	gain, _, _ := l.Expect(0, 1)
	require.Less(t, gain, time.Second)
}

// What may be chance is not learned: run times vary by more than they differ.
func TestLearner_WaitsAsThePolicyWithinTheStandardError(t *testing.T) {
	tests := map[string]struct {
		near, far bool          // whether run times vary
		further   time.Duration // how much longer they are far away
		want      time.Duration
	}{
		"alike":                 {near: true, far: true, want: 7 * time.Second},
		"a little":              {near: true, far: true, further: 3 * time.Second, want: 7 * time.Second},
		"a little, near vary":   {near: true, further: 3 * time.Second, want: 7 * time.Second},
		"a little, far vary":    {far: true, further: 3 * time.Second, want: 7 * time.Second},
		"a little, none varies": {further: 3 * time.Second, want: 9 * time.Second},
		"much":                  {near: true, far: true, further: 20 * time.Second, want: time.Minute},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := new(delay.Learner)
			for i := range 64 {
				near, far := 30*time.Second, 30*time.Second
				if tt.near {
					near = time.Duration(i%2) * time.Minute
				}
				if tt.far {
					far = time.Duration(i%2) * time.Minute
				}
				ran(t, near, 0, l)
				ran(t, far+tt.further, 1, l)
			}
			job, err := delay.New(delay.Policy{Learn: l, Waits: delay.Waits{7 * time.Second}})
			require.NoError(t, err)
			require.InDelta(t, tt.want.Seconds(), wait(t, &job, 0).Seconds(), 1)
		})
	}
}

// What a launch in the rack pays for is the wait beyond the rack. What was
// waited for a node stays.
func TestLearner_ALaunchPaysForItsOwnLevel(t *testing.T) {
	l := new(delay.Learner)
	for range 64 {
		for level, run := range []int{10, 20, 40} {
			ran(t, time.Duration(run)*time.Second, locality.Level(level), l)
		}
	}
	job := learning(t, l, 8)
	require.False(t, offer(t, job, 2, 0))
	relax, ok := job.NextRelax(at(0))
	require.True(t, ok)
	_, err := job.Offer(relax, 2)
	require.NoError(t, err)
	got, err := job.Offer(relax.Add(time.Millisecond), 1)
	require.NoError(t, err)
	require.True(t, got.Launch)
	require.Equal(t, relax.Sub(at(0)), job.Waited(relax))
}
