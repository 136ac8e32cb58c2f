package federation_test

import (
	"container/heap"
	"time"
)

// event is something that happens at a time. Events of one time happen in the order in which they
// were added.
type event struct {
	at  time.Time
	seq int
	do  func()
}

// agenda is a heap of the events to come.
type agenda []event

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, k int) bool {
	return a[i].at.Before(a[k].at) || a[i].at.Equal(a[k].at) && a[i].seq < a[k].seq
}
func (a agenda) Swap(i, k int) { a[i], a[k] = a[k], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(event)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// after calls do once that time has passed.
func (w *world) after(d time.Duration, do func()) { w.at(w.now.Add(d), do) }

// at calls do at a time.
func (w *world) at(t time.Time, do func()) {
	w.pushed++
	heap.Push(&w.todo, event{t, w.pushed, do})
}

// until lets time pass, and the events up to its end happen.
func (w *world) until(end time.Time) {
	for len(w.todo) > 0 && !w.todo[0].at.After(end) {
		e := heap.Pop(&w.todo).(event)
		w.now = e.at
		e.do()
	}
	w.now = end
}
