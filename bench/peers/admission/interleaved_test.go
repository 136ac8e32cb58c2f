package admission_test

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// interleaved is the interleaved weighted round robin of Temporal's history service (common/tasks).
// Each tenant has a channel for 1,000 tasks. A dispatcher goes through the channels round by
// round, and in a round through those with a weight above its number. It moves
// one task of each into a buffer of ten, from which workers take them in order. A task
// that comes when none waits goes there directly.
type interleaved struct {
	channels []chan func()
	rounds   []int // channels in the order of the dispatcher
	buffer   chan func()
	inFlight atomic.Int64
	notify   chan struct{}
	end      chan struct{}
	running  sync.WaitGroup
}

func openInterleaved(_ *testing.T, slots int, weights []int) fairQueue {
	q := &interleaved{buffer: make(chan func(), 10), notify: make(chan struct{}, 1), end: make(chan struct{})}
	byWeight := make([]int, len(weights))
	for tenant := range weights {
		q.channels = append(q.channels, make(chan func(), 1_000))
		byWeight[tenant] = tenant
	}
	slices.SortStableFunc(byWeight, func(a, b int) int { return cmp.Compare(weights[b], weights[a]) })
	for round := slices.Max(weights) - 1; round >= 0; round-- {
		for _, tenant := range byWeight {
			if weights[tenant] > round {
				q.rounds = append(q.rounds, tenant)
			}
		}
	}
	for range slots {
		q.running.Go(func() {
			for task := range q.buffer {
				task()
			}
		})
	}
	q.running.Go(q.dispatch)
	return q
}

func (q *interleaved) dispatch() {
	defer close(q.buffer)
	for {
		select {
		case <-q.notify:
		case <-q.end:
			return
		}
		for q.inFlight.Load() > 0 {
			moved := int64(0)
			for _, tenant := range q.rounds {
				select {
				case task := <-q.channels[tenant]:
					q.buffer <- task
					moved++
				default:
				}
			}
			q.inFlight.Add(-moved)
		}
	}
}

func (q *interleaved) do(tenant int, task func()) {
	done := make(chan struct{})
	run := func() {
		defer close(done)
		task()
	}
	if q.inFlight.Add(1) == 1 {
		q.buffer <- run
		q.inFlight.Add(-1)
	} else {
		q.channels[tenant] <- run
		select {
		case q.notify <- struct{}{}:
		default:
		}
	}
	<-done
}

func (q *interleaved) close() {
	close(q.end)
	q.running.Wait()
}
