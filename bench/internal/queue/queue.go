// Package queue keeps future events in the order of their times.
package queue

import "time"

// Queue is a queue of events by time. Events of the same time are in the order in
// which they were pushed. So a run that pushes the same events is the same run. The
// zero Queue is empty and ready to use. It is not safe for concurrent use.
//
// It is a heap of four children to a node, in one slice without pointers of its
// own. It is half as deep as a binary one, and the children share a cache line or two.
type Queue[E any] struct {
	heap   []entry[E]
	pushed uint64
}

type entry[E any] struct {
	at    time.Duration
	seq   uint64
	event E
}

func (e *entry[E]) before(f *entry[E]) bool {
	return e.at < f.at || e.at == f.at && e.seq < f.seq
}

const children = 4

// Len returns how many events are left.
func (q *Queue[E]) Len() int { return len(q.heap) }

// Next returns the time of the first event, and false if there is none.
func (q *Queue[E]) Next() (time.Duration, bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].at, true
}

// Push adds an event. Cost: O(log events).
func (q *Queue[E]) Push(at time.Duration, event E) {
	q.heap = append(q.heap, entry[E]{})
	e := entry[E]{at, q.pushed, event}
	q.pushed++
	i := len(q.heap) - 1
	for i > 0 {
		parent := (i - 1) / children
		if !e.before(&q.heap[parent]) {
			break
		}
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = e
}

// Pop takes out the first event, and returns false if there is none. Cost:
// O(log events).
func (q *Queue[E]) Pop() (at time.Duration, event E, ok bool) {
	if len(q.heap) == 0 {
		return 0, event, false
	}
	first, last := q.heap[0], len(q.heap)-1
	e := q.heap[last]
	q.heap[last] = entry[E]{} // so that its pointers keep nothing alive
	q.heap = q.heap[:last]
	if last > 0 {
		q.sink(e)
	}
	return first.at, first.event, true
}

// sink finds the place for e in a heap with a free first entry.
func (q *Queue[E]) sink(e entry[E]) {
	i := 0
	for {
		least := i*children + 1
		if least >= len(q.heap) {
			break
		}
		for c := least + 1; c < min(i*children+1+children, len(q.heap)); c++ {
			if q.heap[c].before(&q.heap[least]) {
				least = c
			}
		}
		if !q.heap[least].before(&e) {
			break
		}
		q.heap[i] = q.heap[least]
		i = least
	}
	q.heap[i] = e
}
