package main

import (
	"sync"
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// turns is the order among the tenants: all that they share beside the cell.
type turns struct {
	mu    sync.Mutex
	total resources.Vector
	heap  *drf.Heap[*tenant]
	fifo  []*tenant // for comparison: who came first goes first; nil is DRF

	order, room chan struct{} // closed and made anew when it changed; when there is more

	open  int           // tenants with something left to launch
	span  time.Duration // for which that was all of them
	since time.Time
}

// take charges t for a task if it is its turn. It does so before t has found a
// place, so that the next tenant can look for one at the same time.
func (tn *turns) take(t *tenant) (mine bool, order <-chan struct{}, err error) {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	t.parked = false
	if err = tn.heap.Demand(t.user, t.need); err != nil {
		return false, nil, err
	}
	next, _ := tn.heap.Pick(tn.total)
	for _, f := range tn.fifo {
		if !f.parked {
			next = f.user
			break
		}
	}
	if next != t.user {
		return false, tn.order, nil
	}
	tn.change()
	return true, nil, tn.heap.Charge(t.user, t.need)
}

// giveBack credits t for a task that ended, and left room, or found no place.
func (tn *turns) giveBack(t *tenant, ended bool) error {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	tn.change()
	if ended {
		close(tn.room)
		tn.room = make(chan struct{})
	}
	return tn.heap.Credit(t.user, t.need)
}

// pass gives t's turn away until it asks again, which it does not if it has
// nothing left.
func (tn *turns) pass(t *tenant, nothingLeft bool) error {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	tn.change()
	if t.parked = true; nothingLeft {
		tn.open--
	}
	return tn.heap.Park(t.user)
}

// roomLater returns what is closed when the next task ends.
func (tn *turns) roomLater() <-chan struct{} {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	return tn.room
}

// change is called with mu held before anybody's share changes. It adds up what
// the tenants have held until now and wakes those who wait for their turn.
func (tn *turns) change() {
	if now := time.Now(); tn.open == tn.heap.Len() {
		tn.span += now.Sub(tn.since)
		for u := range tn.heap.All() {
			t, _ := tn.heap.Key(u)
			share, _, _ := tn.heap.Share(u)
			t.held += share * now.Sub(tn.since).Seconds()
		}
		tn.since = now
	}
	close(tn.order)
	tn.order = make(chan struct{})
}
