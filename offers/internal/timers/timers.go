// Package timers is a heap of the times at which something is due.
package timers

import "time"

// Timer is something that is due at a time. It is part of the object that expires, so
// starting and stopping one allocates nothing. The zero Timer is not running.
type Timer struct {
	at    time.Time
	seq   uint64 // of those due at the same time the first started is first
	place int    // in the heap, from 1; 0 if it is not running
	of    any
}

// At returns the time for which the timer was started last.
func (t *Timer) At() time.Time { return t.at }

// Heap holds the timers that are running, the next one at its top. The zero Heap is empty.
type Heap struct {
	heap []*Timer
	seq  uint64
}

// Start makes t due at a time, whether or not it is running. Due returns of then, which t
// is part of.
func (ts *Heap) Start(t *Timer, at time.Time, of any) {
	ts.Stop(t)
	ts.seq++
	t.at, t.seq, t.of = at, ts.seq, of
	ts.heap = append(ts.heap, t)
	t.place = len(ts.heap)
	ts.up(t)
}

// Stop takes t out, if it is running.
func (ts *Heap) Stop(t *Timer) {
	if t.place == 0 {
		return
	}
	last := len(ts.heap) - 1
	moved := ts.heap[last]
	ts.heap[last], ts.heap = nil, ts.heap[:last]
	if moved != t {
		ts.heap[t.place-1], moved.place = moved, t.place
		ts.up(moved)
		ts.down(moved)
	}
	t.place = 0
}

// Next returns when a timer is due next, and false if none is running.
func (ts *Heap) Next() (time.Time, bool) {
	if len(ts.heap) == 0 {
		return time.Time{}, false
	}
	return ts.heap[0].at, true
}

// Len returns how many timers are running.
func (ts *Heap) Len() int { return len(ts.heap) }

// Due stops the first timer that is due and returns the object that it is part of, nil if
// none is due.
func (ts *Heap) Due(now time.Time) any {
	if len(ts.heap) == 0 || ts.heap[0].at.After(now) {
		return nil
	}
	t := ts.heap[0]
	ts.Stop(t)
	return t.of
}

func (t *Timer) before(u *Timer) bool {
	if c := t.at.Compare(u.at); c != 0 {
		return c < 0
	}
	return t.seq < u.seq
}

func (ts *Heap) up(t *Timer) {
	for i := t.place - 1; i > 0; {
		parent := ts.heap[(i-1)/2]
		if !t.before(parent) {
			return
		}
		ts.swap(t, parent)
		i = t.place - 1
	}
}

func (ts *Heap) down(t *Timer) {
	for {
		i := 2*(t.place-1) + 1
		if i >= len(ts.heap) {
			return
		}
		child := ts.heap[i]
		if i+1 < len(ts.heap) && ts.heap[i+1].before(child) {
			child = ts.heap[i+1]
		}
		if !child.before(t) {
			return
		}
		ts.swap(t, child)
	}
}

func (ts *Heap) swap(t, u *Timer) {
	t.place, u.place = u.place, t.place
	ts.heap[t.place-1], ts.heap[u.place-1] = t, u
}
