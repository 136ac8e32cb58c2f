package late_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay/late"
	"github.com/cellsched/cellsched/locality"
)

func TestPick_UndefinedCases(t *testing.T) {
	hung := []task{{"a", 0, 0, 0}, {"b", 1, 0, 0.5}, {"c", 1, 0, 0.5}, {"d", 1, 0, 0.5}, {"e", 1, 0, 0.5}}
	tests := map[string]struct {
		policy late.Policy
		tasks  []task
		want   string
	}{
		"nothing runs":                  {want: "none running"},
		"one task":                      {tasks: []task{{"a", 0, 0, 0.1}}, want: "none slow"},
		"one task at rate 0":            {tasks: []task{{"a", 0, 0, 0}}, want: "none slow"},
		"all equal":                     {tasks: []task{{"a", 0, 0, 0.5}, {"b", 0, 0, 0.5}, {"c", 0, 0, 0.5}}, want: "none slow"},
		"equal to within 1/64":          {tasks: []task{{"a", 0, 0, 0.5}, {"b", 0, 0, 0.503}, {"c", 0, 0, 0.503}}, want: "none slow"},
		"all at rate 0":                 {tasks: []task{{"a", 0, 0, 0}, {"b", 0, 0, 0}}, want: "none slow"},
		"rate 0 beside others":          {tasks: hung, want: "a"},
		"rate 0, copy is worth it":      {policy: late.Policy{Gain: true}, tasks: hung, want: "a"},
		"several at rate 0, the oldest": {policy: late.Policy{SlowTask: 0.6}, tasks: append(slices.Concat([]task{{"z", 0, 0, 0}}, hung[1:]), task{"y", 0, 30, 0}), want: "z"},
		"no gain":                       {policy: late.Policy{Gain: true, SlowTask: 0.5}, tasks: []task{{"a", 0, 0, 0.9}, {"b", 1, 0, 0.95}, {"c", 1, 0, 0.95}}, want: "no gain"},
		"young":                         {tasks: []task{{"a", 0, 50, 0.1}, {"b", 1, 50, 0.9}}, want: "too young"},
		"switched off":                  {policy: late.Policy{Rule: late.Never}, tasks: hung, want: "off"},
		"nothing finished to go by":     {policy: late.Policy{Rule: late.MapReduce2}, tasks: hung, want: "too few finished"},
		"one task, by Spark":            {policy: late.Policy{Rule: late.Spark}, tasks: []task{{"a", 0, 0, 0.1}}, want: "too few finished"},
		"one task, by Hadoop":           {policy: late.Policy{Rule: late.Hadoop}, tasks: []task{{"a", 0, 0, 0.1}}, want: "none slow"},
		"own node, by Hadoop":           {policy: late.Policy{Rule: late.Hadoop}, tasks: []task{{"a", 2, 0, 0.1}, {"b", 1, 0, 0.9}}, want: "own node"},
		"young, by Hadoop":              {policy: late.Policy{Rule: late.Hadoop}, tasks: []task{{"b", 1, 0, 0.9}, {"a", 0, 41, 0.1}}, want: "none slow"},
		"just the gap behind":           {policy: late.Policy{Rule: late.Hadoop, Gap: 0.25}, tasks: []task{{"a", 0, 0, 0.25}, {"b", 1, 0, 0.75}}, want: "a"},
		"own node":                      {tasks: []task{{"a", 2, 0, 0.01}, {"b", 1, 0, 0.5}, {"c", 1, 0, 0.5}, {"d", 1, 0, 0.5}, {"e", 1, 0, 0.5}}, want: "own node"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			// The speeds that the reports show are not what is tested.
			tt.policy.SlowNode = late.None
			job, err := late.New(tt.policy, 9, book(t, 3, 100))
			require.NoError(t, err)
			attempts := run(t, job, 100, tt.tasks)
			choice, err := job.Pick(at(100), 2)
			require.NoError(t, err)
			if of, ok := attempts[tt.want]; ok {
				require.Equal(t, late.Chosen, choice.Why, "%v", choice.Why)
				require.Equal(t, of, choice.Of)
				return
			}
			require.Equal(t, tt.want, choice.Why.String())
		})
	}
}

func TestPick_ATaskThatIsSilentGetsOldEnough(t *testing.T) {
	job, err := late.New(late.Policy{SlowTask: 0.5}, 3, book(t, 3, 100))
	require.NoError(t, err)
	attempts := run(t, job, 10, []task{{"a", 0, 0, 0.01}, {"b", 1, 0, 0.5}, {"c", 1, 0, 0.5}})
	choice, err := job.Pick(at(59), 2)
	require.NoError(t, err)
	require.Equal(t, late.TooYoung, choice.Why)
	choice, err = job.Pick(at(60), 2)
	require.NoError(t, err)
	require.Equal(t, late.Choice{Of: attempts["a"], Left: 99 * time.Minute}, choice)
}

// A task without a report has rate 0 and so no end. It comes before tasks that are
// expected to end, however late, and the oldest of several first.
func TestPick_ATaskThatNeverReportedEndsLast(t *testing.T) {
	job, err := late.New(late.Policy{SlowTask: 0.6, SlowNode: late.None}, 5, book(t, 3, 100))
	require.NoError(t, err)
	hung, err := job.Start(at(0), 0)
	require.NoError(t, err)
	next, err := job.Start(at(20), 0)
	require.NoError(t, err)
	attempts := run(t, job, 2000, []task{{"slow", 0, 20, 0.01}, {"b", 1, 20, 0.9}, {"c", 1, 20, 0.9}, {"d", 1, 20, 0.9}})
	for _, want := range []late.Attempt{hung, next, attempts["slow"]} {
		choice, err := job.Pick(at(2000), 2)
		require.NoError(t, err)
		require.Equal(t, want, choice.Of, "%v left", choice.Left)
		_, err = job.Copy(at(2000), choice.Of, 2)
		require.NoError(t, err)
	}
}

// Nine of ten are finished in 10 s; the last is copied after more than 3 × 10 s.
func TestPick_Spark(t *testing.T) {
	job, err := late.New(late.Policy{Rule: late.Spark}, 10, book(t, 3, 10))
	require.NoError(t, err)
	attempts := make([]late.Attempt, 10)
	for i := range attempts {
		attempts[i], err = job.Start(at(0), 0)
		require.NoError(t, err)
	}
	for i, a := range attempts[:9] {
		choice, err := job.Pick(at(10), 1)
		require.NoError(t, err)
		require.Equal(t, late.TooFew, choice.Why, "%d finished", i)
		_, _, err = job.Finish(at(10), a)
		require.NoError(t, err)
	}
	choice, err := job.Pick(at(29), 1)
	require.NoError(t, err)
	require.Equal(t, late.NoneSlow, choice.Why)
	choice, err = job.Pick(at(31), 0)
	require.NoError(t, err)
	require.Equal(t, late.OwnNode, choice.Why)
	choice, err = job.Pick(at(31), 1)
	require.NoError(t, err)
	require.Equal(t, late.Choice{Of: attempts[9], Left: math.MaxInt64}, choice)
}

// A copy takes the 100 s of the finished task: worth it for the one with 300 s
// left, not for one with 50 s.
func TestPick_MapReduce2(t *testing.T) {
	for progress, want := range map[float64]late.Reason{0.25: late.Chosen, 0.5: late.NoGain, 0.8: late.NoGain} {
		job, err := late.New(late.Policy{Rule: late.MapReduce2}, 10, book(t, 3, 10))
		require.NoError(t, err)
		attempts := run(t, job, 100, []task{{"a", 0, 0, 1}, {"b", 0, 0, progress}})
		_, _, err = job.Finish(at(100), attempts["a"])
		require.NoError(t, err)
		choice, err := job.Pick(at(100), 1)
		require.NoError(t, err)
		require.Equal(t, want, choice.Why, "progress %v", progress)
	}
}

// The average is over tasks, finished ones too, and not over copies.
func TestPick_HadoopsAverageIsOverTasks(t *testing.T) {
	job, err := late.New(late.Policy{Rule: late.Hadoop}, 4, book(t, 3, 100))
	require.NoError(t, err)
	attempts := run(t, job, 100, []task{{"a", 0, 0, 0.62}, {"b", 0, 0, 0.9}, {"c", 0, 0, 0.7}})
	second, err := job.Copy(at(100), attempts["c"], 1)
	require.NoError(t, err)
	require.NoError(t, job.Report(at(110), second, 0.9))
	choice, err := job.Pick(at(110), 2)
	require.NoError(t, err)
	require.Equal(t, late.NoneSlow, choice.Why, "0.62 of 0.74")
	_, _, err = job.Finish(at(110), attempts["b"])
	require.NoError(t, err)
	choice, err = job.Pick(at(110), 2)
	require.NoError(t, err)
	require.Equal(t, late.NoneSlow, choice.Why, "0.62 of 0.773")
	require.NoError(t, job.Report(at(120), attempts["c"], 0.9))
	choice, err = job.Pick(at(120), 2)
	require.NoError(t, err)
	require.Equal(t, attempts["a"], choice.Of, "0.62 of 0.84")
}

// Which of the tasks that are behind depends on the node that asks, and on
// nothing else.
func TestPick_HadoopTakesWhichever(t *testing.T) {
	job, err := late.New(late.Policy{Rule: late.Hadoop}, 20, book(t, 21, 100))
	require.NoError(t, err)
	var tasks []task
	for i := range 10 {
		tasks = append(tasks, task{string(rune('A' + i)), 20, 0, 1})
		tasks = append(tasks, task{string(rune('a' + i)), 20, 0, 0.1 * float64(i) / 10})
	}
	run(t, job, 100, tasks)
	chosen := map[late.Attempt]bool{}
	for node := range locality.Node(20) {
		first, err := job.Pick(at(100), node)
		require.NoError(t, err)
		require.Equal(t, late.Chosen, first.Why)
		second, err := job.Pick(at(100), node)
		require.NoError(t, err)
		require.Equal(t, first, second)
		chosen[first.Of] = true
	}
	require.Greater(t, len(chosen), 5)
}

// The median task takes 100 s, or 200 s on a node of half the speed; the
// straggler has 150 s left.
func TestPick_GainKnowsHowFastTheNodeIs(t *testing.T) {
	for speed, want := range map[time.Duration]late.Reason{1: late.NoGain, 2: late.Chosen} {
		b := book(t, 3, 100)
		job, err := late.New(late.Policy{Gain: true, SlowNode: late.None, SlowTask: 0.5}, 4, b)
		require.NoError(t, err)
		attempts := run(t, job, 100, []task{{"a", 0, 0, 1}, {"b", 0, 0, 1}, {"c", 1, 0, 0.4}})
		for _, id := range []string{"a", "b"} {
			_, _, err := job.Finish(at(100), attempts[id])
			require.NoError(t, err)
		}
		require.NoError(t, b.Observe(at(100), 2, speed*time.Hour, 2*time.Hour))
		choice, err := job.Pick(at(100), 2)
		require.NoError(t, err)
		require.Equal(t, want, choice.Why, "speed %d/2", speed)
	}
}

// The cap is ten copies for a small job, otherwise 1 % of its tasks or 10 % of its
// running ones, whatever the book allows.
func TestPick_MapReduce2KeepsToItsOwnCap(t *testing.T) {
	for _, tt := range []struct{ tasks, running, want int }{{12, 11, 10}, {1200, 30, 12}, {200, 150, 15}} {
		job, err := late.New(late.Policy{Rule: late.MapReduce2}, tt.tasks, book(t, 2, 1000))
		require.NoError(t, err)
		for range tt.running {
			_, err := job.Start(at(0), 0)
			require.NoError(t, err)
		}
		first, err := job.Start(at(90), 0)
		require.NoError(t, err)
		_, _, err = job.Finish(at(100), first)
		require.NoError(t, err)
		require.Equal(t, tt.want, copyAll(t, job, 100, 1, late.AtCap), "%d of %d tasks run", tt.running, tt.tasks)
	}
}

// copyAll has a node copy what it is told to, until it is told why not. It
// returns how many copies that were.
func copyAll(t testing.TB, job *late.Job, now float64, node locality.Node, why late.Reason) (copies int) {
	t.Helper()
	for {
		choice, err := job.Pick(at(now), node)
		require.NoError(t, err)
		if choice.Why != late.Chosen {
			require.Equal(t, why, choice.Why)
			return copies
		}
		_, err = job.Copy(at(now), choice.Of, node)
		require.NoError(t, err)
		copies++
	}
}

// The 25th slowest of a hundred tasks at different rates is the threshold, and so
// it is for a hundred nodes: 24 are below.
func TestPick_TheThresholdsAreThe25thOfAHundred(t *testing.T) {
	b := book(t, 100, 1000)
	for n := range locality.Node(100) {
		took := time.Duration(float64(time.Hour) * math.Pow(1.05, float64(n)))
		require.NoError(t, b.Observe(at(0), n, time.Hour, took))
	}
	job, err := late.New(late.Policy{}, 100, b)
	require.NoError(t, err)
	slow := 0
	for n := range locality.Node(100) {
		choice, err := job.Pick(at(0), n)
		require.NoError(t, err)
		if choice.Why == late.SlowNode {
			slow++
			require.GreaterOrEqual(t, n, locality.Node(76))
		}
	}
	require.Equal(t, 24, slow)

	job, err = late.New(late.Policy{}, 100, book(t, 2, 1000))
	require.NoError(t, err)
	var tasks []task
	for i := range 100 {
		tasks = append(tasks, task{fmt.Sprint(i), 0, 0, math.Pow(1.05, float64(i-100))})
	}
	run(t, job, 100, tasks)
	require.Equal(t, 24, copyAll(t, job, 100, 1, late.NoneSlow))
}

// Spark's TaskSetManager copies a task with a run time of more than the multiplier
// times the median, and more than the least time. The median of an even number is
// the longer of the two in the middle (its PercentileHeap).
func TestPick_SparkGoesByTheExactMedian(t *testing.T) {
	const second = time.Second
	tests := map[string]struct {
		policy    late.Policy
		took      []time.Duration // of finished tasks
		threshold time.Duration
	}{
		"one":                  {late.Policy{}, []time.Duration{7*second + 1}, 21*second + 3},
		"odd":                  {late.Policy{}, []time.Duration{9 * second, 1, 10*second + 7}, 27 * second},
		"even":                 {late.Policy{}, []time.Duration{9 * second, 1, 10*second + 7, 11 * second}, 30*second + 21},
		"alike":                {late.Policy{Multiplier: 1.5}, []time.Duration{second, second, second}, second * 3 / 2},
		"part of a nanosecond": {late.Policy{Multiplier: 1.5}, []time.Duration{3*second + 1}, 4500*time.Millisecond + 1},
		"least time":           {late.Policy{MinAge: time.Minute}, []time.Duration{second}, time.Minute},
		"usual least time":     {late.Policy{}, []time.Duration{1}, 100 * time.Millisecond},
		"no least time":        {late.Policy{MinAge: late.None}, []time.Duration{1}, 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.policy.Rule, tt.policy.Quantile = late.Spark, late.None
			job, err := late.New(tt.policy, len(tt.took)+1, book(t, 2, 100))
			require.NoError(t, err)
			old, err := job.Start(at(0), 0)
			require.NoError(t, err)
			took := slices.Clone(tt.took)
			attempts := make([]late.Attempt, len(took))
			for i := range attempts {
				attempts[i], err = job.Start(at(0), 0)
				require.NoError(t, err)
			}
			for len(took) > 0 { // in the order of time
				i := slices.Index(took, slices.Min(took))
				_, _, err := job.Finish(at(0).Add(took[i]), attempts[i])
				require.NoError(t, err)
				took, attempts = slices.Delete(took, i, i+1), slices.Delete(attempts, i, i+1)
			}
			choice, err := job.Pick(at(0).Add(tt.threshold), 1)
			require.NoError(t, err)
			require.NotEqual(t, late.Chosen, choice.Why, "as long, and not longer")
			choice, err = job.Pick(at(0).Add(tt.threshold+1), 1)
			require.NoError(t, err)
			require.Equal(t, late.Choice{Of: old, Left: choice.Left}, choice)
		})
	}
}

func TestPolicy_NoneIsNotTheDefault(t *testing.T) {
	for name, p := range map[string]late.Policy{
		"slow task": {SlowTask: late.None},
		"age":       {MinAge: late.None},
		"gap":       {Rule: late.Hadoop, Gap: late.None},
		"quantile":  {Rule: late.Spark, Quantile: late.None},
		"slow node": {SlowNode: late.None},
	} {
		t.Run(name, func(t *testing.T) {
			b := book(t, 9, 100)
			job, err := late.New(p, 9, b)
			require.NoError(t, err)
			for node := range locality.Node(8) {
				require.NoError(t, b.Observe(at(0), node, time.Duration(1+node), 1))
			}
			var attempts []late.Attempt
			for range 9 {
				a, err := job.Start(at(0), 8)
				require.NoError(t, err)
				attempts = append(attempts, a)
			}
			_, _, err = job.Finish(at(10), attempts[0])
			require.NoError(t, err)
			for i, a := range attempts[1:] {
				require.NoError(t, job.Report(at(20), a, 0.1+0.1*float64(i)))
			}
			why := func(now float64, node locality.Node) late.Reason {
				choice, err := job.Pick(at(now), node)
				require.NoError(t, err)
				return choice.Why
			}
			switch name {
			case "slow task":
				require.Equal(t, late.SlowNode, why(99, 0))
				require.Equal(t, late.NoneSlow, why(99, 6))
			case "age":
				require.Equal(t, late.Chosen, why(20, 6), "the youngest may be copied")
			case "slow node":
				require.Equal(t, late.Chosen, why(99, 0), "the slowest gets copies")
			default:
				require.Equal(t, late.Chosen, why(99, 6))
			}
		})
	}
	for _, p := range []late.Policy{{Cap: late.None}, {Multiplier: late.None}} {
		_, err := late.New(p, 1, book(t, 1, 1))
		require.ErrorIs(t, err, late.ErrPolicy, "nothing is copied: that is a rule")
	}
}
