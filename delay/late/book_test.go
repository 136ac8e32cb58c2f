package late_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay/late"
	"github.com/cellsched/cellsched/locality"
)

func TestBook_LearnsFromEveryJob(t *testing.T) {
	b := book(t, 4, 8)
	for range 3 {
		job, err := late.New(late.Policy{}, 4, b)
		require.NoError(t, err)
		run(t, job, 100, []task{{"a", 0, 0, 0.5}, {"b", 1, 0, 0.5}, {"c", 2, 0, 0.5}, {"d", 3, 0, 0.1}})
	}
	require.True(t, b.Slow(3, 0.5))
	require.False(t, b.Slow(0, 0.5))
	speed, known := b.Speed(3)
	require.True(t, known)
	require.Less(t, speed, 0.5)

	fresh, err := late.New(late.Policy{SlowNode: 0.5}, 4, b)
	require.NoError(t, err)
	choice, err := fresh.Pick(at(100), 3)
	require.NoError(t, err)
	require.Equal(t, late.SlowNode, choice.Why)
}

// A job's observations of a node are in units of its own tasks. The tasks of one
// job take ten times as long as those of the other, on every node.
func TestBook_LongTasksDoNotMakeANodeSlow(t *testing.T) {
	b := book(t, 4, 8)
	for i, length := range []float64{1000, 100} {
		job, err := late.New(late.Policy{}, 2, b)
		require.NoError(t, err)
		first, second := locality.Node(2*i), locality.Node(2*i+1)
		run(t, job, 50, []task{{"a", first, 0, 50 / length}, {"b", second, 0, 50 / length}})
	}
	for n := range locality.Node(4) {
		speed, known := b.Speed(n)
		require.True(t, known)
		require.InDelta(t, 1, speed, 1e-9, "node %d", n)
	}
}

// A node that nothing was seen of is the slowest, as long as it is one of few.
func TestBook_ANodeThatNothingWasSeenOf(t *testing.T) {
	b := book(t, 8, 8)
	for seen := range locality.Node(8) {
		require.Equal(t, 8-seen < 2, b.Slow(7, 0.25), "%d seen", seen)
		require.False(t, b.Slow(7, 0))
		require.NoError(t, b.Observe(at(0), seen, time.Minute, time.Minute))
	}
	require.False(t, b.Slow(7, 0.25))
	require.False(t, b.Slow(8, 1), "there is no such node")
}

func TestBook_ResizeForgetsNodesThatAreNoMore(t *testing.T) {
	b := book(t, 4, 8)
	for node, speed := range []time.Duration{1, 2, 2, 2} {
		require.NoError(t, b.Observe(at(0), locality.Node(node), speed*time.Minute, time.Minute))
	}
	require.True(t, b.Slow(0, 0.5))
	require.NoError(t, b.Resize(1, 2))
	require.False(t, b.Slow(0, 0.5), "it is the only one")
	require.NoError(t, b.Resize(4, 8))
	_, known := b.Speed(1)
	require.False(t, known)
	_, known = b.Speed(0)
	require.True(t, known)
}

// Jobs on several goroutines share a book that allows three copies.
func TestBook_KeepsToTheCapOverAllJobs(t *testing.T) {
	b := book(t, 2, 30)
	var jobs sync.WaitGroup
	for range 4 {
		jobs.Go(func() {
			job, err := late.New(late.Policy{}, 1, b)
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 300 {
				original, _ := job.Start(at(float64(i)), 0)
				if _, err := job.Pick(at(float64(i)), 1); err != nil {
					t.Error(err)
				}
				second, err := job.Copy(at(float64(i)), original, 1)
				if n := b.Copies(); n > 3 || err != nil && !errors.Is(err, late.ErrCap) {
					t.Errorf("%d copies run: %v", n, err)
				}
				if err := job.Report(at(float64(i)+0.5), original, 0.5); err != nil {
					t.Error(err)
				}
				if err == nil && i%2 == 0 {
					original = second
				}
				loser, raced, _ := job.Finish(at(float64(i)+1), original)
				if raced != (err == nil) {
					t.Errorf("raced %t, copied: %v", raced, err)
				}
				if !raced {
					continue
				}
				if _, _, err := job.Fail(at(float64(i)+1), loser); err != nil {
					t.Error(err)
				}
			}
		})
	}
	jobs.Go(func() {
		for i := range 300 {
			err := b.Observe(at(float64(i)), locality.Node(i%2), time.Minute, time.Minute)
			if _, known := b.Speed(locality.Node(i % 2)); err != nil || !known {
				t.Errorf("known %t: %v", known, err)
			}
			b.Slow(locality.Node(i%2), 0.25)
			if err := b.Resize(2+i%2, 30); err != nil {
				t.Error(err)
			}
		}
	})
	jobs.Wait()
	require.Zero(t, b.Copies())
}

func TestBook_ForgetsByHalves(t *testing.T) {
	b, err := late.NewBook(late.Config{Nodes: 1, Slots: 1, HalfLife: time.Hour})
	require.NoError(t, err)
	require.False(t, b.Slow(0, 1), "nothing was seen of it")
	require.NoError(t, b.Observe(at(0), 0, 2*time.Minute, time.Minute))
	require.NoError(t, b.Observe(at(3600), 0, 0, time.Minute/2))
	speed, known := b.Speed(0)
	require.True(t, known)
	require.InDelta(t, 1, speed, 1e-9)
	require.NoError(t, b.Resize(2, 1))
	require.ErrorIs(t, b.Observe(at(0), 2, 1, 1), late.ErrNode)
	require.ErrorIs(t, b.Observe(at(0), 1, -1, 1), late.ErrSize)
	require.ErrorIs(t, b.Observe(at(0), 1, 1, 0), late.ErrSize)
	require.ErrorIs(t, b.Resize(0, 1), late.ErrSize)
	_, err = late.NewBook(late.Config{Nodes: 1, Slots: 1, HalfLife: -1})
	require.ErrorIs(t, err, late.ErrSize)
}
