package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// cells is one cell, or several that share the machines. Schedulers are dealt out to
// them in turn.
type cells struct {
	cells   []*omega.Cell
	policy  string
	held    []omega.AllocationID // by task
	refused []int                // claims, by worker
}

func newCells(capacity need, machines, n int, policy string) (*cells, error) {
	// A cell keeps of an allocation as many kinds as there are.
	space, err := resources.NewSpace(resources.Dimension{Name: "cpu"}, resources.Dimension{Name: "memory"}, resources.Dimension{Name: "gpu"})
	if err != nil {
		return nil, err
	}
	c := &cells{policy: policy}
	for i := range n {
		cfg := omega.Config{Space: space, Machines: make([]omega.Machine, (i+1)*machines/n-i*machines/n)}
		for m := range cfg.Machines {
			cfg.Machines[m] = omega.Machine{Name: fmt.Sprint("node-", m), Capacity: vector(capacity)}
		}
		one, err := omega.NewCell(cfg)
		if err != nil {
			return nil, err
		}
		c.cells = append(c.cells, one)
	}
	return c, nil
}

func vector(n need) resources.Vector { return resources.Vector{n.cpu, n.memory, n.gpu} }

// policies are the names of the policies, and how scheduler i comes by one.
var policies = map[string]func(i int) omega.Policy{
	"next fit":            func(int) omega.Policy { return omega.NextFit() },
	"first fit":           func(int) omega.Policy { return omega.FirstFit(nil) },
	"first fit at random": func(i int) omega.Policy { return omega.FirstFit(rand.New(rand.NewPCG(3, uint64(i)))) },
	"best of 8":           func(i int) omega.Policy { return omega.BestOf(8, nil, rand.New(rand.NewPCG(3, uint64(i)))) },
	"best fit":            func(int) omega.Policy { return omega.BestFit() },
	"worst fit":           func(int) omega.Policy { return omega.WorstFit() },
}

func (c *cells) fill(needs []need, workers int) error {
	c.held, c.refused = make([]omega.AllocationID, len(needs)), make([]int, workers)
	all := make([]*worker, workers)
	for i := range all {
		s, err := c.cells[i%len(c.cells)].Register(fmt.Sprint("scheduler-", i), omega.Limits{})
		if err != nil {
			return err
		}
		all[i] = &worker{sched: s, snap: s.Snapshot(), policy: policies[c.policy](i)}
	}
	err := share(len(needs), workers, func(i, task int) (ok bool) {
		c.held[task], ok = all[i].place(vector(needs[task]))
		return ok
	})
	for i, w := range all {
		c.refused[i] = w.refused
		err = errors.Join(err, w.err)
	}
	return err
}

// worker is one scheduler with its placement policy and its transaction.
type worker struct {
	sched   *omega.Scheduler
	snap    *omega.Snapshot
	policy  omega.Policy
	tx      omega.Txn
	refused int
	err     error
}

// commit commits without a store, as the cost of a store is not to be measured.
func (w *worker) commit(tx *omega.Txn) (granted int, err error) { return w.sched.Commit(tx) }

// place looks for room and claims it, until that succeeds or there is none.
func (w *worker) place(v resources.Vector) (omega.AllocationID, bool) {
	for fresh := false; ; {
		m, ok := w.snap.Find(omega.Query{Need: v}, w.policy)
		if !ok {
			if fresh {
				return omega.AllocationID{}, false
			}
			w.snap.Refresh(time.Now())
			fresh = true
			continue
		}
		w.tx.Reset()
		w.tx.Claim(omega.Claim{Machine: m, Need: v})
		if _, err := w.commit(&w.tx); err != nil {
			w.err = err
			return omega.AllocationID{}, false
		}
		if a, ok := w.tx.Allocation(0); ok {
			return a, true
		}
		// Another scheduler was faster: look at everything again.
		w.refused++
		w.snap.Refresh(time.Now())
		fresh = true
	}
}

func (c *cells) conflicts() (sum int) {
	for _, n := range c.refused {
		sum += n
	}
	return sum
}

func (c *cells) check(tasks int) error {
	if len(c.held) != tasks {
		return fmt.Errorf("%d handles, want %d", len(c.held), tasks)
	}
	live := make(map[omega.AllocationID]bool, tasks) // IDs of several cells are told apart
	for _, one := range c.cells {
		if err := one.Check(); err != nil {
			return err
		}
		for a := range one.Allocations() {
			live[a.ID] = true
		}
	}
	for task, a := range c.held {
		if !live[a] {
			return fmt.Errorf("task %d: allocation %v is not live", task, a)
		}
		delete(live, a)
	}
	if len(live) > 0 {
		return fmt.Errorf("%d allocations have no handle", len(live))
	}
	return nil
}
