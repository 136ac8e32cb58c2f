package experiments

import (
	"time"

	"github.com/cellsched/cellsched/locality"
)

// attempt is the state of a task: its phase, with its progress.
type attempt struct {
	phase phase
	count uint32 // how often it was started
	node  locality.Node
	begun time.Duration // when the task was
	since time.Duration // when the phase was
	flow  int64         // over the core switch
	moved int64         // bytes over switches so far
}

// phase is a step of a task: it fetches the data in its rack, then the data beyond, at
// once if there is none, and runs.
type phase uint8

const (
	waits phase = iota
	fetchesInRack
	fetchesBeyond
	runs
	ended
)

// enter begins a phase of a task, which is over after so long.
func (w *world) enter(l *live, task int, p phase, after time.Duration) {
	a := &l.state[task]
	a.phase, a.since = p, w.now
	w.events.Push(w.now+after, event{kind: goesOn, l: l, task: task, count: a.count})
}

// next has a task go on to its next phase.
func (w *world) next(l *live, task int) error {
	a, t := &l.state[task], &l.tasks[task]
	w.settle(l, task)
	if a.phase == fetchesInRack {
		if _, core := w.far(t.input, a.node); core > 0 {
			a.phase, a.since = fetchesBeyond, w.now
			w.flows++
			a.flow = w.flows
			w.over[a.flow] = place{l, task}
			w.core.start(w.now, a.flow, core)
			return nil
		}
	}
	if a.phase != runs {
		w.enter(l, task, runs, t.run.Truncate(time.Microsecond))
		return nil
	}
	return w.ended(l, task)
}

// settle counts the bytes that a task has moved in its present phase.
func (w *world) settle(l *live, task int) {
	a := &l.state[task]
	switch a.phase {
	case fetchesInRack:
		rack, _ := w.far(l.tasks[task].input, a.node)
		rack = min(rack, int64((w.now-a.since)/time.Microsecond)*w.link/perByte)
		w.tally.rack += rack
		a.moved += rack
	case fetchesBeyond:
		core := w.core.stop(w.now, a.flow)
		delete(w.over, a.flow)
		w.tally.core += core
		a.moved += core
	}
}

// leave gives back the slot of a task.
func (w *world) leave(l *live, a *attempt, p phase) {
	a.phase = p
	w.free[a.node]++
	w.vacant++
	l.running--
	l.held += w.now - a.begun
	w.changed = true
	if w.others != nil {
		w.others.freed(w, a.node)
	}
}

// transfer returns the least time for so many bytes, in whole microseconds.
func transfer(bytes, rate int64) time.Duration {
	return time.Duration((bytes*perByte+rate-1)/rate) * time.Microsecond
}
