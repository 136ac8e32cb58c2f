package late_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay/late"
)

// What ran when the job was closed is not what others are compared with.
func TestClose_ForgetsRunningAttempts(t *testing.T) {
	b := book(t, 3, 200)
	job, err := late.New(late.Policy{SlowNode: late.None}, 20, b)
	require.NoError(t, err)
	var tasks []task
	for i := range 12 {
		tasks = append(tasks, task{string(rune('a' + i)), 0, 0, 0.9})
	}
	a := run(t, job, 100, append(tasks, task{"slow", 0, 0, 0.01}))["a"]
	second, err := job.Copy(at(100), a, 1)
	require.NoError(t, err)
	job.Close()
	job.Close()
	require.Zero(t, b.Copies())
	require.ErrorIs(t, job.Report(at(100), a, 1), late.ErrAttempt)
	require.ErrorIs(t, job.Report(at(100), second, 1), late.ErrAttempt)
	choice, err := job.Pick(at(100), 2)
	require.NoError(t, err)
	require.Equal(t, late.NoneRunning, choice.Why)
	run(t, job, 200, []task{{"a", 0, 100, 0.5}, {"b", 0, 100, 0.5}}) // fewer than a quarter of all
	choice, err = job.Pick(at(200), 2)
	require.NoError(t, err)
	require.Equal(t, late.NoneSlow, choice.Why)
}

// With a cap of one, no copy starts while a loser holds its slot. A loser without a
// reported end counts until the job is closed.
func TestFinish_TheLoserCountsTowardsTheCap(t *testing.T) {
	for _, copyWins := range []bool{false, true} {
		for _, closed := range []bool{false, true} {
			b := book(t, 3, 1)
			job, err := late.New(late.Policy{Cap: 1, SlowTask: 1, SlowNode: late.None}, 3, b)
			require.NoError(t, err)
			first, err := job.Start(at(0), 0)
			require.NoError(t, err)
			_, err = job.Start(at(0), 1)
			require.NoError(t, err)
			second, err := job.Copy(at(70), first, 1)
			require.NoError(t, err)
			winner := first
			if copyWins {
				winner = second
			}
			loser, _, err := job.Finish(at(80), winner)
			require.NoError(t, err)
			choice, err := job.Pick(at(80), 2)
			require.NoError(t, err)
			require.Equal(t, late.AtCap, choice.Why)
			if closed {
				job.Close()
				require.Zero(t, b.Copies())
				_, _, err = job.Fail(at(81), loser)
				require.ErrorIs(t, err, late.ErrAttempt)
				continue
			}
			_, _, err = job.Fail(at(81), loser)
			require.NoError(t, err)
			choice, err = job.Pick(at(81), 2)
			require.NoError(t, err)
			require.Equal(t, late.Chosen, choice.Why)
		}
	}
}

func TestFinish_NamesTheLoser(t *testing.T) {
	for _, copyWins := range []bool{false, true} {
		b := book(t, 2, 10)
		job, err := late.New(late.Policy{}, 1, b)
		require.NoError(t, err)
		first, err := job.Start(at(0), 0)
		require.NoError(t, err)
		second, err := job.Copy(at(70), first, 1)
		require.NoError(t, err)
		require.Equal(t, 1, b.Copies())
		winner, other := first, second
		if copyWins {
			winner, other = second, first
		}
		loser, raced, err := job.Finish(at(80), winner)
		require.NoError(t, err)
		require.True(t, raced)
		require.Equal(t, other, loser)
		require.Equal(t, 1, b.Copies(), "the loser runs until it is stopped")
		require.ErrorIs(t, job.Report(at(80), loser, 1), late.ErrAttempt)
		require.ErrorContains(t, job.Report(at(80), loser, 1), "its twin has finished")
		_, ok, err := job.Fail(at(81), loser)
		require.NoError(t, err)
		require.False(t, ok, "it has no survivor")
		require.Zero(t, b.Copies())
		_, _, err = job.Fail(at(81), loser)
		require.ErrorIs(t, err, late.ErrAttempt)
		_, _, err = job.Finish(at(80), winner)
		require.ErrorIs(t, err, late.ErrAttempt)
	}
}

func TestFail_TheOtherAttemptIsTheTask(t *testing.T) {
	b := book(t, 3, 100)
	job, err := late.New(late.Policy{}, 1, b)
	require.NoError(t, err)
	first, err := job.Start(at(0), 0)
	require.NoError(t, err)
	second, err := job.Copy(at(70), first, 1)
	require.NoError(t, err)
	survivor, ok, err := job.Fail(at(80), first)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, second, survivor)
	require.Zero(t, b.Copies(), "it is the original now")
	third, err := job.Copy(at(90), second, 2)
	require.NoError(t, err)
	survivor, ok, err = job.Fail(at(95), third)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, second, survivor)
	_, ok, err = job.Fail(at(95), second)
	require.NoError(t, err)
	require.False(t, ok, "the task has to start again")
	choice, err := job.Pick(at(95), 2)
	require.NoError(t, err)
	require.Equal(t, late.NoneRunning, choice.Why)
}

// A copy that outlives its original keeps its own age and is copied in its turn,
// though tasks that started after it are known already.
func TestFail_TheCopyKeepsItsAge(t *testing.T) {
	job, err := late.New(late.Policy{SlowNode: late.None}, 6, book(t, 4, 100))
	require.NoError(t, err)
	first := run(t, job, 10, []task{{"a", 0, 0, 0.1}})["a"]
	second, err := job.Copy(at(10), first, 1)
	require.NoError(t, err)
	run(t, job, 100, []task{{"b", 0, 20, 0.5}, {"c", 0, 20, 0.5}, {"d", 0, 20, 0.5}, {"e", 0, 20, 0.5}})
	require.NoError(t, job.Report(at(100), second, 0.1))
	_, _, err = job.Fail(at(100), first)
	require.NoError(t, err)
	choice, err := job.Pick(at(100), 2)
	require.NoError(t, err)
	require.Equal(t, second, choice.Of, "%v", choice.Why)
}

// It is not put before those that started before it.
func TestFail_TheCopyIsNoOlderThanItIs(t *testing.T) {
	job, err := late.New(late.Policy{Rule: late.Spark, Quantile: 0.1}, 10, book(t, 3, 100))
	require.NoError(t, err)
	attempts := run(t, job, 50, []task{{"done", 0, 0, 1}, {"oldest", 0, 0, 0.5}, {"a", 0, 0, 0.5}})
	second, err := job.Copy(at(50), attempts["a"], 1)
	require.NoError(t, err)
	_, _, err = job.Finish(at(50), attempts["done"])
	require.NoError(t, err)
	_, _, err = job.Fail(at(60), attempts["a"])
	require.NoError(t, err)
	for _, want := range []late.Attempt{attempts["oldest"], second} {
		choice, err := job.Pick(at(300), 2)
		require.NoError(t, err)
		require.Equal(t, want, choice.Of, "%v", choice.Why)
		_, err = job.Copy(at(300), choice.Of, 2)
		require.NoError(t, err)
	}
}

// The room of an attempt that has ended is used again, under another name.
func TestJob_AnAttemptThatEndedIsNotTheNextOne(t *testing.T) {
	job, err := late.New(late.Policy{}, 2, book(t, 1, 100))
	require.NoError(t, err)
	seen := map[late.Attempt]bool{}
	for range 3 {
		a, err := job.Start(at(0), 0)
		require.NoError(t, err)
		for old := range seen {
			require.ErrorIs(t, job.Report(at(0), old, 0.5), late.ErrAttempt)
		}
		seen[a] = true
		_, _, err = job.Finish(at(0), a)
		require.NoError(t, err)
	}
	require.Len(t, seen, 3)
}

func TestJob_NamesTheRefusedValue(t *testing.T) {
	b := book(t, 2, 100)
	job, err := late.New(late.Policy{}, 4, b)
	require.NoError(t, err)
	a, err := job.Start(at(100), 0)
	require.NoError(t, err)
	require.NoError(t, job.Report(at(110), a, 0.5))
	second, err := job.Copy(at(110), a, 1)
	require.NoError(t, err)
	before, err := job.Estimate(at(110), a)
	require.NoError(t, err)

	fails := func(err, want error, text string) {
		t.Helper()
		require.ErrorIs(t, err, want)
		require.ErrorContains(t, err, text)
		after, err := job.Estimate(at(110), a)
		require.NoError(t, err)
		require.Equal(t, before, after)
		require.Equal(t, 1, b.Copies())
	}
	for _, p := range []float64{-0.1, 1.1, math.NaN(), 0.49} {
		fails(job.Report(at(120), a, p), late.ErrProgress, "late: report of attempt 0: progress")
	}
	fails(job.Report(at(109), a, 0.6), late.ErrTime, "late: report at 2008-12-08 09:01:49 +0000 UTC: the last call was at 2008-12-08 09:01:50 +0000 UTC: time went backwards")
	_, err = job.Start(at(109), 0)
	fails(err, late.ErrTime, "start at")
	_, err = job.Start(at(120), 2)
	fails(err, late.ErrNode, "late: start: node 2, want one below 2: unusable node")
	_, err = job.Pick(at(120), math.MaxUint32)
	fails(err, late.ErrNode, "pick: node 4294967295")
	_, err = job.Pick(at(109), 0)
	fails(err, late.ErrTime, "pick at")
	_, err = job.Copy(at(120), a, 1)
	fails(err, late.ErrCopied, "copy attempt 0: it has a copy on node 1")
	_, err = job.Copy(at(120), second, 0)
	fails(err, late.ErrAttempt, "it is a copy")
	_, err = job.Copy(at(120), late.Attempt{}, 0)
	fails(err, late.ErrAttempt, "copy attempt: want one that has neither finished nor failed: no such attempt")
	_, _, err = job.Finish(at(109), a)
	fails(err, late.ErrTime, "finish at")
	_, _, err = job.Fail(at(109), a)
	fails(err, late.ErrTime, "fail at")

	twin, err := late.New(late.Policy{}, 4, book(t, 2, 100))
	require.NoError(t, err)
	same, err := twin.Start(at(100), 0) // the first of its job as well
	require.NoError(t, err)
	require.NotEqual(t, a, same)
	fails(job.Report(at(120), same, 0.6), late.ErrAttempt, "late: report attempt 0 of another job: no such attempt")
	_, _, err = job.Finish(at(120), same)
	fails(err, late.ErrAttempt, "finish attempt 0 of another job")

	other, err := job.Start(at(110), 0)
	require.NoError(t, err)
	_, err = job.Copy(at(120), other, 0)
	fails(err, late.ErrNode, "node 0 runs the original")
	_, err = job.Copy(at(109), other, 1)
	fails(err, late.ErrTime, "copy at")
}

func TestNew_NamesTheValueItRefuses(t *testing.T) {
	tests := map[string]struct {
		policy late.Policy
		text   string
	}{
		"rule":       {late.Policy{Rule: 9}, "late: policy: rule 9, want one of 0 to 4: invalid policy"},
		"percentile": {late.Policy{SlowTask: -0.1}, "slow task percentile -0.1, want 0 to 1"},
		"nodes":      {late.Policy{SlowNode: 2}, "slow node percentile 2"},
		"cap":        {late.Policy{Cap: math.NaN()}, "cap NaN"},
		"gap":        {late.Policy{Gap: -1}, "gap -1"},
		"quantile":   {late.Policy{Quantile: 1.01}, "quantile 1.01"},
		"age":        {late.Policy{MinAge: -1}, "minimum age -1ns"},
		"multiplier": {late.Policy{Multiplier: 0.5}, "multiplier 0.5, want 1 to 1e9"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := late.New(tt.policy, 1, book(t, 1, 1))
			require.ErrorIs(t, err, late.ErrPolicy)
			require.ErrorContains(t, err, tt.text)
		})
	}
	_, err := late.New(late.Policy{}, 0, book(t, 1, 1))
	require.ErrorIs(t, err, late.ErrSize)
	_, err = late.New(late.Policy{}, 1, nil)
	require.ErrorIs(t, err, late.ErrSize)
}

// MapReduce 2 allows ten copies at a time of a small job, those that have lost
// and not ended among them.
func TestPick_MapReduce2CountsLosers(t *testing.T) {
	b := book(t, 3, 1000)
	job, err := late.New(late.Policy{Rule: late.MapReduce2, MinAge: late.None}, 30, b)
	require.NoError(t, err)
	var attempts, losers []late.Attempt
	for range 30 {
		a, err := job.Start(at(0), 0)
		require.NoError(t, err)
		attempts = append(attempts, a)
	}
	_, _, err = job.Finish(at(10), attempts[29])
	require.NoError(t, err)
	for i := range 10 {
		_, err = job.Copy(at(20), attempts[i], 1)
		require.NoError(t, err)
	}
	for i := range 10 {
		loser, _, err := job.Finish(at(30), attempts[i])
		require.NoError(t, err)
		losers = append(losers, loser)
	}
	choice, err := job.Pick(at(40), 2)
	require.NoError(t, err)
	require.Equal(t, late.AtCap, choice.Why)
	_, _, err = job.Fail(at(40), losers[0])
	require.NoError(t, err)
	choice, err = job.Pick(at(40), 2)
	require.NoError(t, err)
	require.Equal(t, late.Chosen, choice.Why)
}
