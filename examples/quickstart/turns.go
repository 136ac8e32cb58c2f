package main

import (
	"sync"
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// turns is the order among the tenants.
type turns struct {
	mu      sync.Mutex
	heap    *drf.Heap[*tenant]
	total   resources.Vector
	fifo    []*tenant     // for comparison: who came first goes first; nil is DRF
	changed chan struct{} // closed and made anew when somebody else may be next
	ended   int           // tasks, so that there may be room
	open    int           // tenants that have something left to launch

	since time.Time     // shares are added up until here
	span  time.Duration // for which all tenants were open
}

// turn charges t for a task if it is next: before t has a place for it, so that
// the next tenant can look for one too. Else wait is closed when to ask again.
func (tn *turns) turn(t *tenant) (mine bool, wait <-chan struct{}, err error) {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	if t.tried == tn.ended && (t.retry.IsZero() || time.Now().Before(t.retry)) {
		return false, tn.changed, nil // it would find what it found before
	}
	if t.parked, err = false, tn.heap.Demand(t.user, t.need); err != nil {
		return false, nil, err
	}
	next, _ := tn.heap.Pick(tn.total)
	for i := len(tn.fifo) - 1; i >= 0; i-- {
		if !tn.fifo[i].parked {
			next = tn.fifo[i].user
		}
	}
	if next != t.user {
		return false, tn.changed, nil
	}
	t.tried, t.retry = tn.ended, time.Time{}
	return true, nil, tn.change(func() error { return tn.heap.Charge(t.user, t.need) })
}

// park gives t's turn away until it asks again.
func (tn *turns) park(t *tenant) error {
	t.parked = true
	return tn.heap.Park(t.user)
}

// do makes a change under the lock.
func (tn *turns) do(by func() error) error {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	return tn.change(by)
}

// change adds up what all held until now, makes a change, and tells all.
func (tn *turns) change(by func() error) error {
	now := time.Now()
	if d := now.Sub(tn.since); tn.open == tn.heap.Len() {
		tn.span += d
		for u := range tn.heap.All() {
			t, _ := tn.heap.Key(u)
			share, _, _ := tn.heap.Share(u)
			t.held += share * d.Seconds()
		}
	}
	tn.since = now
	close(tn.changed)
	tn.changed = make(chan struct{})
	return by()
}
