package delay_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
)

// calls are all calls of a queue that change it or look into it.
func calls(q *delay.Queue[int], job int, now time.Time) map[string]error {
	_, err := q.Job(job)
	_, _, offered := q.Offer(now, a)
	return map[string]error{
		"offer": offered, "job": err, "add": q.Add(job, []locality.Node{a}, []locality.Node{b}), "update": q.Update(job, func(j *delay.Job) { j.SetStarved(true) }),
		"regroup": q.Regroup(), "remove": q.Remove(job),
	}
}

func TestQueue_NamesCallsAtTheSameTime(t *testing.T) {
	q, err := delay.NewQueue[int](delay.Policy{Waits: delay.Waits{time.Second}}, twoRacks(t))
	require.NoError(t, err)
	require.NoError(t, q.Add(1, []locality.Node{b}))
	_, _, err = q.Offer(at(0), c)
	require.NoError(t, err)
	_, ok := q.NextRelax()
	require.True(t, ok)
	delay.Use(q, true)
	for name, err := range calls(q, 1, at(1)) {
		require.ErrorIs(t, err, delay.ErrConcurrent, name)
	}
	_, ok = q.NextRelax()
	require.False(t, ok)
	delay.Use(q, false)
	require.Equal(t, 1, q.Len())
	for range 2 { // no call keeps others out after it
		for name, err := range calls(q, 2, at(1)) {
			require.NotErrorIs(t, err, delay.ErrConcurrent, name)
		}
	}
	for name, err := range calls(new(delay.Queue[int]), 1, at(0)) {
		require.ErrorContains(t, err, "the zero queue", name)
	}
}

// No goroutine panics, whatever the others do.
func TestQueue_SeveralGoroutinesGetErrors(t *testing.T) {
	q, err := delay.NewQueue[int](delay.Policy{Waits: delay.Waits{time.Second}}, twoRacks(t))
	require.NoError(t, err)
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 500 {
				for name, err := range calls(q, 4*i+g, at(0)) {
					if err != nil && !errors.Is(err, delay.ErrConcurrent) && !errors.Is(err, delay.ErrJob) {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
		})
	}
	group.Wait()
}

func TestLine_NamesCallsDuringAnother(t *testing.T) {
	var line delay.Line
	job, err := delay.New(delay.Policy{})
	require.NoError(t, err)
	var inner error
	order := func(yield func(*delay.Job, locality.Level) bool) {
		_, inner = line.Offer(at(1), func(func(*delay.Job, locality.Level) bool) {})
		yield(&job, 0)
	}
	got, err := line.Offer(at(0), order)
	require.NoError(t, err)
	require.Same(t, &job, got)
	require.ErrorIs(t, inner, delay.ErrConcurrent)
	_, err = line.Offer(at(0), nil)
	require.ErrorContains(t, err, "a nil order")
	_, err = line.Offer(at(0), order)
	require.NoError(t, err, "neither was counted")
}

// Both lines count their offers from one on. A job that moves is no job that
// comes twice, and the line that it has left does not pause it.
func TestLine_AJobMayMoveToAnother(t *testing.T) {
	for offers := range 8 {
		var lines [2]delay.Line
		job, err := delay.New(delay.Policy{Waits: delay.Waits{5 * time.Second}})
		require.NoError(t, err)
		only := func(yield func(*delay.Job, locality.Level) bool) { yield(&job, 1) }
		none := func(func(*delay.Job, locality.Level) bool) {}
		greedy, err := delay.New(delay.Policy{})
		require.NoError(t, err)
		for range 3 { // no slot idles there: a job that is not reached is paused
			_, err = lines[0].Offer(at(0), func(yield func(*delay.Job, locality.Level) bool) { _ = yield(&job, 1) && yield(&greedy, 1) })
			require.NoError(t, err)
		}
		for range offers {
			_, err = lines[1].Offer(at(1), none)
			require.NoError(t, err)
		}
		got, err := lines[1].Offer(at(1), only)
		require.NoError(t, err, "%d offers before", offers)
		require.Nil(t, got)
		_, err = lines[0].Offer(at(2), none)
		require.NoError(t, err)
		require.Equal(t, 4*time.Second, job.Waited(at(4)))

		// What it has waited in either of them counts, and idled in full.
		got, err = lines[0].Offer(at(4), func(yield func(*delay.Job, locality.Level) bool) { yield(&job, 0) })
		require.NoError(t, err)
		require.Same(t, &job, got)
		require.Equal(t, 4*time.Second, job.Waited(at(4)))
	}
}
