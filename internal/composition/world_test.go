package composition_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

const (
	machines = 200
	largest  = 16              // CPUs of the largest machines
	longest  = 8 * time.Second // of a task
	arrivals = 40 * time.Second
	patience = 4 * time.Second // of a need, before room is reserved for it
	grace    = 4 * time.Second // of a preemption, after which the task that preempts begins
	lasting  = longest + grace // of an allocation
	answer   = 3 * time.Second // of a part, to what the cell tells it
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
	over    atomic.Bool // the parts have been stopped

	accounts   []omega.Account // which all parts charge
	registered []registered
}

// registered is a scheduler with the limits that it has.
type registered struct {
	*omega.Scheduler
	limits omega.Limits
}

// tenants are the names of the accounts.
var tenants = []string{"gold", "silver", "bronze"}

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
	for _, name := range tenants {
		w.accounts = append(w.accounts, w.account(name))
	}
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
	w.registered = append(w.registered, registered{s, limits})
	return s
}

// account returns the account of a name.
func (w *world) account(name string) omega.Account {
	a, err := w.cell.Account(context.Background(), name)
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

// arriving reports whether needs arrive still.
func (w *world) arriving() bool { return time.Since(w.begin) < arrivals }

// most returns the machines but one in five: what a scheduler may claim.
func (w *world) most() omega.Mask {
	return omega.NewMask(func(yield func(locality.Node) bool) {
		for n := range locality.Node(2 * machines) {
			if n%5 != 0 && !yield(n) {
				return
			}
		}
	})
}

// open returns how many needs wait.
func (w *world) open() (all int) {
	for _, p := range w.parts {
		n, _ := p.waits()
		all += n
	}
	return all
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
