package loop

import (
	"container/heap"
	"time"
)

// The alarms that a job can have set, each on a timeline of its own.
const (
	backoffAlarm = iota
	deadlineAlarm
	alarms
)

// timeline is a heap of jobs by time, and by arrival at the same time. Every job knows
// its place, so one that ends is taken out at once.
type timeline[K any] struct {
	alarm int
	list  []timed[K]
}

type timed[K any] struct {
	at time.Time
	p  *Pending[K]
}

// set puts p at a time. It must not be in the timeline.
func (t *timeline[K]) set(p *Pending[K], at time.Time) { heap.Push(t, timed[K]{at, p}) }

// unset takes p out if it is there.
func (t *timeline[K]) unset(p *Pending[K]) {
	if at := p.pos[t.alarm]; at > 0 {
		heap.Remove(t, at-1)
	}
}

// due takes out the first job that is due, and returns nil if there is none.
func (t *timeline[K]) due(now time.Time) *Pending[K] {
	if len(t.list) == 0 || now.Before(t.list[0].at) {
		return nil
	}
	return heap.Pop(t).(timed[K]).p
}

// first returns the earliest time.
func (t *timeline[K]) first() (at time.Time, ok bool) {
	if len(t.list) == 0 {
		return time.Time{}, false
	}
	return t.list[0].at, true
}

func (t *timeline[K]) Len() int { return len(t.list) }

func (t *timeline[K]) Less(i, j int) bool {
	a, b := &t.list[i], &t.list[j]
	if c := a.at.Compare(b.at); c != 0 {
		return c < 0
	}
	return a.p.seq < b.p.seq
}

func (t *timeline[K]) Swap(i, j int) {
	t.list[i], t.list[j] = t.list[j], t.list[i]
	t.list[i].p.pos[t.alarm], t.list[j].p.pos[t.alarm] = i+1, j+1
}

// Push is for package heap.
func (t *timeline[K]) Push(x any) {
	one := x.(timed[K])
	t.list = append(t.list, one)
	one.p.pos[t.alarm] = len(t.list)
}

// Pop is for package heap.
func (t *timeline[K]) Pop() any {
	last := len(t.list) - 1
	one := t.list[last]
	t.list[last] = timed[K]{}
	t.list = t.list[:last]
	one.p.pos[t.alarm] = 0
	return one
}
