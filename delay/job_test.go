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

func TestNew_NamesTheValueItRefuses(t *testing.T) {
	const most = time.Duration(math.MaxInt64)
	tests := map[string]struct {
		policy delay.Policy
		text   string
	}{
		"negative skips":         {policy: delay.Policy{Skips: -1}, text: "delay: policy: skips = -1, want 0 or more"},
		"negative wait":          {policy: delay.Policy{Waits: delay.Waits{0, -time.Second}}, text: "delay: policy: wait at level 1 = -1s, want 0 or more"},
		"negative last wait":     {policy: delay.Policy{Waits: delay.Waits{14: -1}}, text: "delay: policy: wait at level 14 = -1ns, want 0 or more"},
		"waits that overflow":    {policy: delay.Policy{Waits: delay.Waits{most, 1}}, text: "waits up to level 1"},
		"both skips and waits":   {policy: delay.Policy{Skips: 3, Waits: delay.Waits{0, time.Second}}, text: "skips = 3 and waits of 1s in all, want one of them zero"},
		"skips negative, waited": {policy: delay.Policy{Skips: -7, Waits: delay.Waits{time.Second}}, text: "skips = -7, want 0 or more"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			job, err := delay.New(tt.policy)
			require.ErrorContains(t, err, tt.text)
			require.Zero(t, job)
		})
	}
	_, err := delay.New(delay.Policy{Waits: delay.Waits{most}})
	require.NoError(t, err)
}

func TestJob_RefusesTimeThatGoesBackwards(t *testing.T) {
	job, err := delay.New(delay.Policy{Waits: delay.Waits{5 * time.Second}})
	require.NoError(t, err)
	_, err = job.Offer(at(10), 1)
	require.NoError(t, err)
	before := job

	_, err = job.Offer(at(9), 0)
	require.ErrorIs(t, err, delay.ErrTime)
	require.ErrorContains(t, err, "delay: offer at 2010-04-13 09:00:09 +0000 UTC: the last call was at 2010-04-13 09:00:10 +0000 UTC")
	require.ErrorIs(t, job.Pause(at(9)), delay.ErrTime)
	require.Equal(t, before, job)
	require.Equal(t, time.Duration(0), job.Waited(at(9)), "asking about the past is no error")
	require.Equal(t, locality.NodeLocal, job.Allowed(at(9)))

	_, err = job.Offer(at(10), 1)
	require.NoError(t, err, "the same instant again")
}

func TestJob_MayStartAtAnyInstant(t *testing.T) {
	job, err := delay.New(delay.Policy{Waits: delay.Waits{5 * time.Second}})
	require.NoError(t, err)
	early := time.Time{}.Add(-time.Hour)
	_, err = job.Offer(early, 1)
	require.NoError(t, err)
	_, err = job.Offer(early.Add(-1), 1)
	require.ErrorIs(t, err, delay.ErrTime)
}

func TestJob_LevelsBeyondTheLastWaitOpenTogether(t *testing.T) {
	tests := map[string]struct {
		waits delay.Waits
		after int // seconds of waiting
		want  locality.Level
	}{
		"one wait, before":            {waits: delay.Waits{5 * time.Second}, after: 4, want: 0},
		"one wait, after":             {waits: delay.Waits{5 * time.Second}, after: 5, want: 255},
		"two waits, first over":       {waits: delay.Waits{5 * time.Second, 10 * time.Second}, after: 14, want: 1},
		"two waits, both over":        {waits: delay.Waits{5 * time.Second, 10 * time.Second}, after: 15, want: 255},
		"nothing to wait for at node": {waits: delay.Waits{0, 10 * time.Second}, after: 0, want: 1},
		"a gap opens two at once":     {waits: delay.Waits{1 * time.Second, 0, 1 * time.Second}, after: 1, want: 2},
		"none":                        {after: 0, want: 255},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			job, err := delay.New(delay.Policy{Waits: tt.waits})
			require.NoError(t, err)
			_, err = job.Offer(at(0), 255)
			require.NoError(t, err)
			require.Equal(t, tt.want, job.Allowed(at(tt.after)))
		})
	}
}

func TestJob_ALongSilenceDoesNotOverflow(t *testing.T) {
	job, err := delay.New(delay.Policy{Waits: delay.Waits{math.MaxInt64}})
	require.NoError(t, err)
	now := time.Time{}
	for range 2 {
		_, err = job.Offer(now, 1)
		require.NoError(t, err)
		require.GreaterOrEqual(t, job.Waited(now), time.Duration(0))
		now = now.AddDate(200, 0, 0)
	}
	require.Equal(t, time.Duration(math.MaxInt64), job.Waited(now))
	require.NoError(t, job.Pause(now))
	require.Equal(t, time.Duration(math.MaxInt64), job.Waited(now))
	require.EqualValues(t, 255, job.Allowed(now))
}

func TestJob_PauseStopsTheClock(t *testing.T) {
	job, err := delay.New(delay.Policy{Waits: delay.Waits{5 * time.Second}})
	require.NoError(t, err)
	_, err = job.Offer(at(0), 1)
	require.NoError(t, err)
	relax, ok := job.NextRelax(at(0))
	require.True(t, ok)
	require.Equal(t, at(5), relax)

	require.NoError(t, job.Pause(at(3)))
	require.Equal(t, 3*time.Second, job.Waited(at(100)))
	_, ok = job.NextRelax(at(100))
	require.False(t, ok, "nothing opens while the clock stands")

	_, err = job.Offer(at(100), 1)
	require.NoError(t, err)
	relax, ok = job.NextRelax(at(100))
	require.True(t, ok)
	require.Equal(t, at(102), relax)
}

// Launches near the data, however many, do not hold up a job that leaves nodes
// idle for longer than the waits together.
func TestJob_LaunchesNearbyDoNotProlongTheWait(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wait := time.Duration(rapid.IntRange(1, 20).Draw(t, "wait")) * time.Second
		job, err := delay.New(delay.Policy{Waits: delay.Waits{wait}})
		require.NoError(t, err)
		got, err := job.Offer(start, 1)
		require.NoError(t, err)
		require.False(t, got.Launch)
		now := start
		for !got.Launch {
			now = now.Add(time.Duration(rapid.IntRange(1, 2000).Draw(t, "ms")) * time.Millisecond)
			if rapid.Bool().Draw(t, "local") {
				near, err := job.Offer(now, 0)
				require.NoError(t, err)
				require.True(t, near.Launch)
			}
			got, err = job.Offer(now, 1)
			require.NoError(t, err)
			require.Equal(t, now.Sub(start) >= wait, got.Launch, "after %v of %v", now.Sub(start), wait)
		}
	})
}

// offered is an offer to a job that waits one second for the node and one for the
// rack, and the levels that the job takes after it.
type offered struct {
	at      int // seconds
	level   locality.Level
	taken   bool // by another job
	launch  bool
	allowed locality.Level
}

// Nodes have idled for two seconds: the job makes up for one in 16 seconds
// without waiting. For what others take there is nothing to make up for.
func TestJob_IsChoosyAgainOnceTheWaitIsMadeUpFor(t *testing.T) {
	tests := map[string][]offered{
		"nothing is made up for at once": {
			{0, 2, false, false, 0}, {2, 2, false, true, 255}, {2, 0, false, true, 255}, {2, 0, false, true, 255}, {2, 2, false, true, 255},
		},
		"half of it": {
			{0, 2, false, false, 0}, {2, 2, false, true, 255}, {18, 0, false, true, 1}, {18, 2, false, false, 1}, {19, 2, false, true, 255},
		},
		"half of it, farther away meanwhile": {
			{0, 2, false, false, 0}, {2, 2, false, true, 255}, {10, 2, false, true, 255}, {18, 0, false, true, 1},
		},
		"half of it, the rack first": {
			{0, 2, false, false, 0}, {2, 2, false, true, 255}, {18, 1, false, true, 1}, {18, 0, false, true, 1},
		},
		"all of it": {
			{0, 2, false, false, 0}, {2, 2, false, true, 255}, {34, 0, false, true, 0}, {34, 1, false, false, 0},
		},
		"no more than all of it": {
			{0, 2, false, false, 0}, {2, 2, false, true, 255}, {99, 0, false, true, 0}, {99, 1, false, false, 0}, {100, 1, false, true, 1},
		},
		"launches near the data while it waits": {
			{0, 2, false, false, 0}, {1, 0, false, true, 1}, {1, 0, false, true, 1}, {1, 0, false, true, 1}, {1, 2, false, false, 1}, {2, 2, false, true, 255},
		},
		"a launch in the rack, farther nodes idle": {
			{0, 2, false, false, 0}, {1, 1, false, true, 1}, {1, 0, false, true, 1}, {2, 2, false, true, 255},
		},
		"nothing, the node it passed up was taken": {
			{0, 2, true, false, 0}, {2, 2, false, true, 255}, {2, 0, false, true, 0}, {2, 2, true, false, 0}, {3, 1, false, true, 1}, {3, 0, false, true, 0},
		},
		// Of 4 offers one was not taken: a quarter of the last second counts.
		"a part, most was taken": {
			{0, 2, true, false, 0},
			{0, 2, true, false, 0},
			{0, 2, true, false, 0},
			{0, 2, false, false, 0},
			{1, 0, false, true, 0},
			{1, 1, false, false, 0},
			{2, 1, false, true, 1},
		},
	}
	for name, offers := range tests {
		t.Run(name, func(t *testing.T) {
			job, err := delay.New(delay.Policy{Waits: delay.Waits{time.Second, time.Second}})
			require.NoError(t, err)
			for i, o := range offers {
				got, err := job.Offer(at(o.at), o.level)
				require.NoError(t, err)
				require.Equal(t, o.launch, got.Launch, "offer %d", i)
				if o.taken {
					job.Taken()
				}
				require.Equal(t, o.allowed, job.Allowed(at(o.at)), "offer %d", i)
			}
		})
	}
}

// Two nodes near the data are free each second, and one far away. Two launches
// in a row do not end a wait that leaves nodes idle.
func TestJob_NoNumberOfLaunchesNearbyEndsAWaitThatIdles(t *testing.T) {
	for near := range 6 {
		job, err := delay.New(delay.Policy{Waits: delay.Waits{3 * time.Second}})
		require.NoError(t, err)
		refused := 0
		for second := range 1000 {
			for range near {
				got, err := job.Offer(at(second), 0)
				require.NoError(t, err)
				require.True(t, got.Launch)
			}
			got, err := job.Offer(at(second), 1)
			require.NoError(t, err)
			if !got.Launch {
				refused++
			}
		}
		require.LessOrEqual(t, refused, 3+1000/16+1, "%d near", near)
		require.Positive(t, refused, "%d near", near)
	}
}

func TestJob_NodesTakenByOthersDoNotKeepItWaiting(t *testing.T) {
	for _, taken := range []bool{false, true} {
		job, err := delay.New(delay.Policy{Waits: delay.Waits{5 * time.Second}})
		require.NoError(t, err)
		for i, level := range []locality.Level{1, 0, 1} {
			got, err := job.Offer(at(3*i), level)
			require.NoError(t, err)
			require.Equal(t, level == 0 || i == 2 && !taken, got.Launch)
			if taken && !got.Launch {
				job.Taken()
				job.Taken() // the second time, nothing
			}
		}
	}
}

func TestJob_SkipsWaitsThatLeadNowhere(t *testing.T) {
	waits := delay.Policy{Waits: delay.Waits{5 * time.Second, 5 * time.Second}}
	tests := map[string]struct {
		policy  delay.Policy
		nearest locality.Level
		starved bool
		want    locality.Level
	}{
		"node":                   {policy: waits, want: 0},
		"nothing on any node":    {policy: waits, nearest: 1, want: 1},
		"nothing in any rack":    {policy: waits, nearest: 2, want: 255},
		"no preference":          {policy: waits, nearest: 255, want: 255},
		"starved":                {policy: waits, starved: true, want: 255},
		"skips":                  {policy: delay.Policy{Skips: 3}, want: 0},
		"skips, nothing on any":  {policy: delay.Policy{Skips: 3}, nearest: 1, want: 1},
		"skips, no preference":   {policy: delay.Policy{Skips: 3}, nearest: 255, want: 255},
		"skips, starved":         {policy: delay.Policy{Skips: 3}, starved: true, want: 255},
		"paper's rule, the same": {policy: delay.Policy{Waits: waits.Waits, Paper: true}, nearest: 1, want: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			job, err := delay.New(tt.policy)
			require.NoError(t, err)
			job.SetNearest(tt.nearest)
			job.SetStarved(tt.starved)
			require.Equal(t, tt.want, job.Allowed(at(0)))
			got, err := job.Offer(at(0), 2)
			require.NoError(t, err)
			require.Equal(t, tt.want >= 2, got.Launch)
		})
	}
}

func TestJob_DoesNotWaitForEmptyLevels(t *testing.T) {
	waits := delay.Waits{1 * time.Second, 2 * time.Second, 4 * time.Second}
	tests := map[string]struct {
		empty []locality.Level
		opens map[int]locality.Level // after seconds
	}{
		"none":            {opens: map[int]locality.Level{0: 0, 1: 1, 3: 2, 7: 255}},
		"in between":      {empty: []locality.Level{1}, opens: map[int]locality.Level{0: 0, 1: 2, 5: 255}},
		"the nearest":     {empty: []locality.Level{0}, opens: map[int]locality.Level{0: 1, 2: 2, 6: 255}},
		"two":             {empty: []locality.Level{2, 1}, opens: map[int]locality.Level{0: 0, 1: 255}},
		"all":             {empty: []locality.Level{0, 1, 2}, opens: map[int]locality.Level{0: 255}},
		"none waited for": {empty: []locality.Level{3, 14, 15, 16, 255}, opens: map[int]locality.Level{0: 0, 1: 1, 3: 2, 7: 255}},
		"the same again":  {empty: []locality.Level{1, 1}, opens: map[int]locality.Level{0: 0, 1: 2, 5: 255}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			job, err := delay.New(delay.Policy{Waits: waits})
			require.NoError(t, err)
			job.SetEmpty(0, 1, 2) // of old
			job.SetEmpty(tt.empty...)
			if tt.opens[0] < 255 {
				_, err = job.Offer(at(0), 255)
				require.NoError(t, err)
			}
			for after, want := range tt.opens {
				require.Equal(t, want, job.Allowed(at(after)), "after %d s", after)
				if after > 0 {
					require.Less(t, job.Allowed(at(after).Add(-1)), want, "before %d s", after)
				}
			}
		})
	}

	// What is learned is skipped too, and what the job meets is nothing to
	// learn from there: it would not have waited.
	l := new(delay.Learner)
	for range 64 {
		for level, run := range []int{10, 20, 40} {
			ran(t, time.Duration(run)*time.Second, locality.Level(level), l)
		}
	}
	job := learning(t, l, 1)
	require.False(t, offer(t, job, 2, 0))
	first, ok := job.NextRelax(at(0))
	require.True(t, ok)
	require.Equal(t, locality.RackLocal, job.Allowed(first))
	job.SetEmpty(1)
	require.EqualValues(t, 255, job.Allowed(first))
	require.Less(t, first, at(70))
	require.True(t, offer(t, job, 0, 70))
	for level, want := range map[locality.Level]time.Duration{0: 70 * time.Second, 1: 0} {
		_, expected, _ := l.Expect(level, 1)
		require.Equal(t, want, expected, "level %d", level)
	}
}

func TestJob_LaunchesWithinABoundedWait(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		far := locality.Level(rapid.IntRange(1, 255).Draw(t, "level"))
		if rapid.Bool().Draw(t, "counts") {
			skips := rapid.IntRange(0, 50).Draw(t, "skips")
			job, err := delay.New(delay.Policy{Skips: skips})
			require.NoError(t, err)
			for i := range skips + 1 {
				got, err := job.Offer(start, far)
				require.NoError(t, err)
				require.Equal(t, i == skips, got.Launch, "offer %d", i)
			}
			return
		}
		var p delay.Policy
		total := time.Duration(0)
		for l := range p.Waits {
			p.Waits[l] = time.Duration(rapid.IntRange(0, 1000).Draw(t, "ms")) * time.Millisecond
			total += p.Waits[l]
		}
		job, err := delay.New(p)
		require.NoError(t, err)
		first, err := job.Offer(start, far)
		require.NoError(t, err)
		last, err := job.Offer(start.Add(total), far)
		require.NoError(t, err)
		require.True(t, first.Launch || last.Launch)
	})
}

func TestJob_DoesNotAllocate(t *testing.T) {
	job, err := delay.New(delay.Policy{Waits: delay.Waits{5 * time.Second, 10 * time.Second}})
	require.NoError(t, err)
	now, n := start, 0
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		now, n = now.Add(time.Second), n+1
		_, _ = job.Offer(now, locality.Level(n%7))
		job.NextRelax(now)
		_ = job.Pause(now)
	}))
}
