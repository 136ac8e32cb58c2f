package delay_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
)

// knowing returns a learner that has seen tasks run for 10 s near their data
// and for 30 s farther away.
func knowing(t require.TestingT) *delay.Learner {
	l := new(delay.Learner)
	for range 8 {
		ran(t, 10*time.Second, 0, l)
		ran(t, 30*time.Second, 1, l)
	}
	return l
}

// learning returns a job of so many tasks that learns from l.
func learning(t require.TestingT, l *delay.Learner, tasks int) *delay.Job {
	job, err := delay.New(delay.Policy{Learn: l})
	require.NoError(t, err)
	job.SetPending(tasks)
	return &job
}

// offer offers a node at each instant, in seconds, and returns the last answer.
func offer(t require.TestingT, job *delay.Job, level locality.Level, instants ...int) bool {
	launched := false
	for _, s := range instants {
		got, err := job.Offer(at(s), level)
		require.NoError(t, err)
		launched = got.Launch
	}
	return launched
}

// wait returns for how long a job would wait from now on.
func wait(t require.TestingT, job *delay.Job, now int) time.Duration {
	if offer(t, job, 1, now) {
		return 0
	}
	relax, ok := job.NextRelax(at(now))
	require.True(t, ok)
	return relax.Sub(at(now))
}

func TestLearner_WaitsAsThePolicySaysUntilItKnows(t *testing.T) {
	l := new(delay.Learner)
	p := delay.Policy{Learn: l, Waits: delay.Waits{7 * time.Second}}
	for run := range 8 {
		_, _, ok := l.Expect(0, 1)
		require.False(t, ok, "after %d runs", run)
		job, err := delay.New(p)
		require.NoError(t, err)
		require.Equal(t, 7*time.Second, wait(t, &job, 0))
		ran(t, 10*time.Second, 0, l)
		ran(t, 30*time.Second, 1, l)
	}
	gain, expected, ok := l.Expect(0, 1)
	require.True(t, ok)
	require.Equal(t, 20*time.Second, gain)
	require.Zero(t, expected)
	_, _, ok = l.Expect(1, 1)
	require.False(t, ok, "nothing is known beyond")

	job, err := delay.New(p)
	require.NoError(t, err)
	require.Equal(t, time.Minute, wait(t, &job, 0))
}

func TestLearner_SharesTheWaitAmongPendingTasks(t *testing.T) {
	for tasks, want := range map[int]time.Duration{
		-1: time.Minute, 0: time.Minute, 1: time.Minute, 2: 30 * time.Second, 60: time.Second, 1_000_000: 60 * time.Microsecond,
	} {
		require.Equal(t, want, wait(t, learning(t, knowing(t), tasks), 0), "%d tasks", tasks)
	}
	require.Less(t, wait(t, learning(t, knowing(t), math.MaxInt), 0), time.Microsecond)
}

// A task that waits for 5 s before each launch near its data gains 20 s by it,
// and 15 in the end.
func TestLearner_ExpectsTheWaitOfEarlierTasks(t *testing.T) {
	l := knowing(t)
	for range 50 {
		job := learning(t, l, 1)
		require.False(t, offer(t, job, 1, 0))
		require.True(t, offer(t, job, 0, 5))
	}
	_, expected, _ := l.Expect(0, 1)
	require.Equal(t, 5*time.Second, expected.Round(time.Millisecond))
	require.Equal(t, 45*time.Second, wait(t, learning(t, l, 1), 0).Round(time.Millisecond))

	// Two tasks that are there for 5 s have waited for 10 s together.
	for range 50 {
		job := learning(t, l, 2)
		require.False(t, offer(t, job, 1, 0))
		require.True(t, offer(t, job, 0, 5))
	}
	for tasks, want := range map[int]time.Duration{-1: 5, 0: 5, 1: 5, 2: 10, 3: 10, 4: 0, 1 << 30: 0} {
		_, expected, _ = l.Expect(0, tasks)
		require.Equal(t, want*time.Second, expected.Round(time.Millisecond), "%d tasks", tasks)
	}
}

func TestLearner_DoesNotWaitLongerThanTheGain(t *testing.T) {
	l := knowing(t)
	// One node in ten is of use, and one becomes free every 3 s: 30 s for a task.
	job := learning(t, l, 1)
	for i := range 500 {
		level := locality.Level(1)
		if i%10 == 9 {
			level = 0
		}
		_, err := job.Offer(at(3*i), level)
		require.NoError(t, err)
	}
	_, expected, _ := l.Expect(0, 1)
	require.InDelta(t, 30, expected.Seconds(), 6)
	require.Zero(t, wait(t, learning(t, l, 1), 0))

	// It has learned that although no job waits, and learns as much when nodes
	// begin to come ten times as often.
	for i := range 500 {
		now := at(1500).Add(time.Duration(i) * 300 * time.Millisecond)
		level := locality.Level(1)
		if i%10 == 9 {
			level = 0
		}
		_, err := job.Offer(now, level)
		require.NoError(t, err)
	}
	learning(t, l, 1) // is due to take any node
	require.Greater(t, wait(t, learning(t, l, 1), 0), 40*time.Second)
}

// A job below its share takes any node. It learns from that the wait it would have
// had: one node in ten is near, and one is free every 3 s.
func TestLearner_LearnsFromJobsThatDoNotWait(t *testing.T) {
	l := knowing(t)
	job := learning(t, l, 1)
	job.SetStarved(true)
	for i := range 1000 {
		level := locality.Level(1)
		if i%10 == 9 {
			level = 0
		}
		require.True(t, offer(t, job, level, 3*i))
	}
	_, expected, _ := l.Expect(0, 1)
	require.InDelta(t, 30, expected.Seconds(), 3)
}

// Nothing is learned of levels that a job did not take, or need not wait for.
func TestLearner_LeavesOtherLevelsAlone(t *testing.T) {
	l := new(delay.Learner)
	for range 64 {
		for level, run := range []int{10, 12, 40} {
			ran(t, time.Duration(run)*time.Second, locality.Level(level), l)
		}
	}
	seen := func() (waits [2]time.Duration) {
		for level := range waits {
			_, waits[level], _ = l.Expect(locality.Level(level), 1)
		}
		return waits
	}
	waited := func(nearest, level locality.Level, seconds int) {
		job := learning(t, l, 1)
		job.SetNearest(nearest)
		require.False(t, offer(t, job, 2, 0))
		require.True(t, offer(t, job, level, seconds))
	}
	waited(1, 1, 7)
	first := seen()
	require.Equal(t, [2]time.Duration{0, 7 * time.Second}, first, "it need not wait for a node")
	waited(0, 0, 5)
	require.Equal(t, [2]time.Duration{5 * time.Second, first[1]}, seen(), "it did not take the rack yet")
}

func TestLearner_CountsTheTasksThatAreLeft(t *testing.T) {
	job := learning(t, knowing(t), 3)
	for _, want := range []time.Duration{20 * time.Second, 30 * time.Second, time.Minute, time.Minute} {
		require.Equal(t, want, wait(t, job, 0))
		require.True(t, offer(t, job, 0, 0))
	}
}

func TestLearner_WaitsLongForMuch(t *testing.T) {
	for _, far := range []time.Duration{math.MaxInt64, math.MaxInt64 / 2} {
		l := new(delay.Learner)
		for range 8 {
			ran(t, 0, 0, l)
			ran(t, far, 1, l)
		}
		require.Greater(t, wait(t, learning(t, l, 1), 0), 30*24*time.Hour)
	}
}

// A job with nothing but one popular node waits no longer than others for it to
// come round. It then goes elsewhere, whatever others have learned.
func TestLearner_LaunchesNearbyPayForTheWait(t *testing.T) {
	job := learning(t, knowing(t), 100)
	require.False(t, offer(t, job, 1, 0))
	require.Equal(t, locality.Level(0), job.Allowed(at(0)))
	require.EqualValues(t, 255, job.Allowed(at(1)), "60 s among 100 tasks")
	require.True(t, offer(t, job, 0, 1))
	require.Equal(t, time.Second-20*time.Second/100, job.Waited(at(1)), "one task has gained 20 s")
	require.True(t, offer(t, job, 1, 2))

	few := learning(t, knowing(t), 3)
	require.False(t, offer(t, few, 1, 0))
	require.True(t, offer(t, few, 0, 5))
	require.Zero(t, few.Waited(at(5)))
}

func TestLearner_SeparatesLevels(t *testing.T) {
	l := new(delay.Learner)
	for range 64 {
		for level, run := range []int{10, 12, 40} {
			ran(t, time.Duration(run)*time.Second, locality.Level(level), l)
		}
	}
	job := learning(t, l, 1)
	require.False(t, offer(t, job, 2, 0))
	gain, _, ok := l.Expect(0, 1)
	require.True(t, ok)
	require.InDelta(t, 26-10, gain.Seconds(), 1)
	gain, _, ok = l.Expect(1, 1)
	require.True(t, ok)
	require.InDelta(t, 40-11, gain.Seconds(), 1)

	// Having waited for a node in vain, it takes one in the rack, and that is
	// as much as it has met there.
	relax, ok := job.NextRelax(at(0))
	require.True(t, ok)
	got, err := job.Offer(relax, 1)
	require.NoError(t, err)
	require.True(t, got.Launch)
	_, expected, _ := l.Expect(0, 1)
	require.Equal(t, expected, relax.Sub(at(0)))
	_, expected, _ = l.Expect(1, 1)
	require.Zero(t, expected)
}

func TestLearner_RefusesBadInput(t *testing.T) {
	l := knowing(t)
	before := *l
	require.ErrorContains(t, l.Ran(1, -time.Second), "delay: learn: run time at level 1 = -1s, want 0 or more")
	require.Equal(t, before, *l)
	for text, p := range map[string]delay.Policy{
		"delay: policy: skips = 3 and a learner": {Learn: l, Skips: 3},
		"the paper's rule and a learner":         {Learn: l, Paper: true},
	} {
		_, err := delay.New(p)
		require.ErrorContains(t, err, text)
	}
}

// A task without preference waits for nothing, and has nothing to teach.
func TestLearner_LeavesTasksWithoutPreferenceAlone(t *testing.T) {
	l := knowing(t)
	q, err := delay.NewQueue[int](delay.Policy{Learn: l}, nil)
	require.NoError(t, err)
	require.NoError(t, q.Add(1, nil, []locality.Node{a}, nil))
	before := *l
	for _, task := range []int{0, 2} {
		got, ok, err := q.Offer(start, b)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, task, got.Task)
	}
	require.Equal(t, before, *l)
	_, ok, err := q.Offer(start, b)
	require.NoError(t, err)
	require.False(t, ok)
	relax, ok := q.NextRelax()
	require.True(t, ok)
	require.Equal(t, at(60), relax, "one task prefers a node")
}

// Whatever it is told, what it knows and has jobs wait stays within bounds, and
// levels only open until the next launch.
func TestLearner_KeepsWithinBounds(t *testing.T) {
	extreme := rapid.OneOf(rapid.Int64Range(0, 100), rapid.Int64Range(0, math.MaxInt64))
	rapid.Check(t, func(t *rapid.T) {
		l := new(delay.Learner)
		waits := delay.Waits{time.Duration(extreme.Draw(t, "initial"))}
		job, err := delay.New(delay.Policy{Learn: l, Waits: waits})
		require.NoError(t, err)
		job.SetPending(int(extreme.Draw(t, "pending")))
		now, allowed := time.Time{}, job.Allowed(time.Time{})
		level := rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 255))
		t.Repeat(map[string]func(*rapid.T){
			"ran": func(t *rapid.T) {
				at, run := locality.Level(level.Draw(t, "level")), time.Duration(extreme.Draw(t, "run"))
				for range 8 {
					require.NoError(t, l.Ran(at, run))
				}
			},
			"offer": func(t *rapid.T) {
				now = now.Add(time.Duration(extreme.Draw(t, "ns")))
				at := locality.Level(level.Draw(t, "level"))
				allowed = job.Allowed(now)
				got, err := job.Offer(now, at)
				require.NoError(t, err)
				require.Equal(t, at <= allowed, got.Launch)
				if got.Launch {
					allowed = job.Allowed(now)
				}
			},
			"starved": func(t *rapid.T) {
				job.SetStarved(rapid.Bool().Draw(t, "starved"))
				allowed = job.Allowed(now)
			},
			"nearest": func(t *rapid.T) {
				job.SetNearest(locality.Level(level.Draw(t, "level")))
				allowed = job.Allowed(now)
			},
			"": func(t *rapid.T) {
				require.GreaterOrEqual(t, job.Waited(now), time.Duration(0))
				require.GreaterOrEqual(t, job.Allowed(now.Add(time.Second)), allowed)
				for at := range locality.Level(20) {
					gain, expected, ok := l.Expect(at, 1)
					require.GreaterOrEqual(t, gain, time.Duration(0))
					require.GreaterOrEqual(t, expected, time.Duration(0))
					require.True(t, ok || gain == 0 && expected == 0)
				}
				if relax, ok := job.NextRelax(now); ok {
					require.Greater(t, job.Allowed(relax), job.Allowed(relax.Add(-1)))
				}
			},
		})
	})
}

func TestLearner_DoesNotAllocate(t *testing.T) {
	l := knowing(t)
	job, n := *learning(t, l, 100), 0
	now := start
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		now, n = now.Add(time.Second), n+1
		_, _ = job.Offer(now, locality.Level(n%3))
		_ = l.Ran(locality.Level(n%3), time.Duration(n))
		l.Expect(0, 1)
	}))
}
