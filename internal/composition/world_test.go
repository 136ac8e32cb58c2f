package composition_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

const (
	machines = 200
	largest  = 16              // CPUs of the largest machines
	longest  = 8 * time.Second // of a task
	arrivals = 40 * time.Second
)

// world is a cell, the parts that schedule on it, and an operator of its machines. It
// lives in the virtual time of a synctest bubble.
type world struct {
	t       testing.TB
	seed    uint64
	cell    *omega.Cell
	begin   time.Time
	parts   []part
	rand    *rand.Rand // of the operator
	sources uint64
}

// part is an engine of the library at work on the cell.
type part interface {
	// run works until ctx is done. Needs arrive until arrivals have passed.
	run(ctx context.Context) error
	// check compares the allocations that the part knows of with those of the cell.
	check()
	// waits returns the number of needs that wait, and the waits of all.
	waits() (open int, done []wait)
}

// wait is how long a need waited for its room.
type wait struct {
	need string
	long time.Duration
}

func newWorld(t testing.TB, seed uint64) *world {
	t.Helper()
	w := &world{t: t, seed: seed, begin: time.Now(), rand: rand.New(rand.NewPCG(seed, 0))}
	var list []omega.Machine
	for i := range machines {
		list = append(list, omega.Machine{Name: fmt.Sprint("machine-", i), Capacity: w.size()})
	}
	cell, err := omega.NewCell(omega.Config{Machines: list})
	require.NoError(t, err)
	w.cell = cell
	return w
}

// size draws the capacity of a machine: one in four is one of the largest.
func (w *world) size() resources.Vector {
	cpus := int64(largest) >> min(w.rand.IntN(4), 2)
	return resources.Vector{cpus, cpus * (2 + w.rand.Int64N(3))}
}

// source returns a new source of randomness.
func (w *world) source() *rand.Rand {
	w.sources++
	return rand.New(rand.NewPCG(w.seed, w.sources))
}

// scheduler registers a scheduler of the cell.
func (w *world) scheduler(name string, limits omega.Limits) *omega.Scheduler {
	s, err := w.cell.Register(name, limits)
	require.NoError(w.t, err)
	return s
}

// account returns the account of a name.
func (w *world) account(name string) omega.Account {
	a, err := w.cell.Account(name)
	require.NoError(w.t, err)
	return a
}

// operate changes machines until ctx is done: it removes one and adds another of the
// size, or drains or shrinks one, and takes that back after a while.
func (w *world) operate(ctx context.Context) error {
	type change struct {
		due  time.Time
		undo func() error
	}
	pending := map[string]change{} // by machine
	fresh := machines
	for pause(ctx, time.Duration(w.rand.IntN(int(2*time.Second)))) {
		for name, c := range pending {
			if c.due.Before(time.Now()) {
				delete(pending, name)
				if err := c.undo(); err != nil {
					return err
				}
			}
		}
		all := slices.Collect(w.cell.Machines())
		m := all[w.rand.IntN(len(all))]
		if _, ok := pending[m.Name]; ok || len(pending) > machines/20 {
			continue
		}
		var undo func() error
		switch w.rand.IntN(3) {
		case 0:
			if _, err := w.cell.Remove(m.ID); err != nil {
				return err
			}
			name := fmt.Sprint("machine-", fresh)
			fresh++
			undo = func() error {
				_, err := w.cell.Add(omega.Machine{Name: name, Capacity: m.Capacity})
				return err
			}
		case 1:
			if err := w.cell.Drain(m.ID); err != nil {
				return err
			}
			undo = func() error { return w.cell.Resume(m.ID) }
		case 2:
			less := m.Capacity
			for k := range less {
				less[k] -= less[k] / 4
			}
			if err := w.cell.SetCapacity(m.ID, less); errors.Is(err, omega.ErrInUse) {
				continue
			} else if err != nil {
				return err
			}
			undo = func() error { return w.cell.SetCapacity(m.ID, m.Capacity) }
		}
		pending[m.Name] = change{time.Now().Add(longest), undo}
	}
	for _, c := range pending {
		if err := c.undo(); err != nil {
			return err
		}
	}
	return nil
}

// pause sleeps, and returns false if ctx ended meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// stopped returns nil for the error of a cancelled context.
func stopped(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// book records the allocations and the waiting needs of a part. The cell is compared
// with it.
type book struct {
	t         testing.TB
	scheduler *omega.Scheduler
	mu        sync.Mutex
	held      map[omega.AllocationID]resources.Vector
	open      map[string]time.Time // needs that wait, and since when
	done      []wait
}

func (w *world) book(s *omega.Scheduler) *book {
	return &book{t: w.t, scheduler: s, held: map[omega.AllocationID]resources.Vector{}, open: map[string]time.Time{}}
}

// asks notes a need that waits from now on.
func (b *book) asks(need string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[need] = time.Now()
}

// placed notes that a need has all of its room, or waits no more.
func (b *book) placed(need string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if since, ok := b.open[need]; ok {
		b.done = append(b.done, wait{need, time.Since(since)})
		delete(b.open, need)
	}
}

// starts notes an allocation.
func (b *book) starts(id omega.AllocationID, need resources.Vector) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, twice := b.held[id]; twice {
		b.t.Errorf("%s: allocation %v was handed over twice", b.scheduler.Name(), id)
	}
	b.held[id] = need
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
	for need, since := range b.open {
		done = append(done, wait{need + " (waits)", time.Since(since)})
	}
	return len(b.open), done
}

// check compares the book with the cell, at a moment at which nothing is on its way.
func (b *book) check() {
	b.mu.Lock()
	defer b.mu.Unlock()
	marked := map[omega.AllocationID]bool{}
	for m := range b.scheduler.Marked() {
		marked[m.Allocation.ID] = true
	}
	live := map[omega.AllocationID]resources.Vector{}
	for a := range b.scheduler.Allocations() {
		live[a.ID] = a.Need
	}
	for id, need := range b.held {
		if got, ok := live[id]; !marked[id] && (!ok || got != need) {
			b.t.Errorf("%s: allocation %v: the cell has %v, %v, want %v", b.scheduler.Name(), id, got, ok, need)
		}
	}
	for id := range live {
		if _, ok := b.held[id]; !ok {
			b.t.Errorf("%s: allocation %v is held by no task", b.scheduler.Name(), id)
		}
	}
}

// total returns the capacity of all machines.
func (w *world) total() (total resources.Vector) {
	for m := range w.cell.Machines() {
		total = total.Add(m.Capacity)
	}
	return total
}

// free returns the room that no allocation holds.
func (w *world) free() (free resources.Vector) {
	for m := range w.cell.Machines() {
		free = free.Add(m.Free)
	}
	return free
}
