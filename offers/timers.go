package offers

import "time"

// timer is something that is due at a time. It is part of what expires, so
// starting and stopping one allocates nothing.
type timer struct {
	at    time.Time
	seq   uint64 // of those due at the same time the first started is first
	place int    // in the heap, from 1; 0 if it is not running
	of    expirer
}

// expirer is what a timer is part of.
type expirer interface{ expire(m *Master) }

// timers is a heap of those that are running, the next at its top.
type timers struct {
	heap []*timer
	seq  uint64
}

// start makes t due at a time, whether or not it is running.
func (ts *timers) start(t *timer, at time.Time, of expirer) {
	ts.stop(t)
	ts.seq++
	t.at, t.seq, t.of = at, ts.seq, of
	ts.heap = append(ts.heap, t)
	t.place = len(ts.heap)
	ts.up(t)
}

// stop takes t out, if it is running.
func (ts *timers) stop(t *timer) {
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

// next returns when one is due next, and false if none is.
func (ts *timers) next() (time.Time, bool) {
	if len(ts.heap) == 0 {
		return time.Time{}, false
	}
	return ts.heap[0].at, true
}

// due takes out and returns one that is due, or nil.
func (ts *timers) due(now time.Time) *timer {
	if len(ts.heap) == 0 || ts.heap[0].at.After(now) {
		return nil
	}
	t := ts.heap[0]
	ts.stop(t)
	return t
}

func (t *timer) before(u *timer) bool {
	if c := t.at.Compare(u.at); c != 0 {
		return c < 0
	}
	return t.seq < u.seq
}

func (ts *timers) up(t *timer) {
	for i := t.place - 1; i > 0; {
		parent := ts.heap[(i-1)/2]
		if !t.before(parent) {
			return
		}
		ts.swap(t, parent)
		i = t.place - 1
	}
}

func (ts *timers) down(t *timer) {
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

func (ts *timers) swap(t, u *timer) {
	t.place, u.place = u.place, t.place
	ts.heap[t.place-1], ts.heap[u.place-1] = t, u
}
