package composition_test

import (
	"sync"
	"testing"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// task is a task that runs: what an allocation is for.
type task struct {
	need       resources.Vector
	account    omega.Account
	precedence omega.Precedence
}

// request is a need that waits.
type request struct {
	since  time.Time
	atOnce bool // it needs all of its room at once
}

// book records the allocations and the waiting needs of a part. The cell is compared
// with it.
type book struct {
	t         testing.TB
	scheduler *omega.Scheduler
	mu        sync.Mutex
	held      map[omega.AllocationID]task
	open      map[string]request // needs that wait
	done      []wait
	unheld    map[omega.AllocationID]time.Time // allocations without a task, and since when
}

func (w *world) book(s *omega.Scheduler) *book {
	return &book{t: w.t, scheduler: s, held: map[omega.AllocationID]task{}, open: map[string]request{}, unheld: map[omega.AllocationID]time.Time{}}
}

// asks notes a need that waits from now on, for all of its room at once or for parts.
func (b *book) asks(need string, atOnce bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[need] = request{time.Now(), atOnce}
}

// placed notes that a need has all of its room, or waits no more.
func (b *book) placed(need string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if of, ok := b.open[need]; ok {
		b.done = append(b.done, wait{need, time.Since(of.since)})
		delete(b.open, need)
	}
}

// starts notes an allocation.
func (b *book) starts(id omega.AllocationID, of task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, twice := b.held[id]; twice {
		b.t.Errorf("%s: allocation %v was handed over twice", b.scheduler.Name(), id)
	}
	b.held[id] = of
}

// ends takes an allocation out, and returns false if it had ended before.
func (b *book) ends(id omega.AllocationID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.held[id]
	delete(b.held, id)
	return ok
}

func (b *book) waits() (open int, done []wait) {
	b.mu.Lock()
	defer b.mu.Unlock()
	done = b.done
	for need, of := range b.open {
		done = append(done, wait{need + " (waits)", time.Since(of.since)})
	}
	return len(b.open), done
}

// overdue returns how many needs have waited for a reservation for too long.
func (b *book) overdue() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, of := range b.open {
		if of.atOnce && time.Since(of.since) > patience+answer {
			n++
		}
	}
	return n
}

// check compares the book with the cell, at a moment at which nothing is on its way.
func (b *book) check() {
	b.mu.Lock()
	defer b.mu.Unlock()
	marked := map[omega.AllocationID]bool{}
	for m := range b.scheduler.Marked() {
		marked[m.Allocation.ID] = true
	}
	live := map[omega.AllocationID]task{}
	for a := range b.scheduler.Allocations() {
		live[a.ID] = task{a.Need, a.Account, a.Precedence}
	}
	for id, want := range b.held {
		if got, ok := live[id]; !marked[id] && (!ok || got != want) {
			b.t.Errorf("%s: allocation %v: the cell has %v, %v, want %v", b.scheduler.Name(), id, got, ok, want)
		}
	}
	for id := range live {
		if _, ok := b.held[id]; ok {
			continue
		}
		// A task begins once those that were preempted for it have stopped. Flow tells of that
		// in the next round.
		ready, err := b.scheduler.Cell().ReadyAt(id)
		if since, known := b.unheld[id]; !known || err == nil && time.Now().Before(ready) {
			b.unheld[id] = time.Now()
		} else if time.Since(since) > time.Second+look {
			b.t.Errorf("%s: allocation %v is held by no task for %v", b.scheduler.Name(), id, time.Since(since))
		}
	}
}
