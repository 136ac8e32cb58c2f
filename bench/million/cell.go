package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// cell is the real thing.
type cell struct {
	*omega.Cell
	held    []omega.AllocationID // by task
	refused []int                // claims, by worker
}

func newCell(capacity need, machines int) (*cell, error) {
	cfg := omega.Config{Machines: make([]omega.Machine, machines)}
	for i := range cfg.Machines {
		cfg.Machines[i] = omega.Machine{Name: fmt.Sprint("node-", i), Capacity: vector(capacity)}
	}
	c, err := omega.NewCell(cfg)
	return &cell{Cell: c}, err
}

func vector(n need) resources.Vector { return resources.Vector{n.cpu, n.memory, n.gpu} }

func (c *cell) fill(needs []need, workers int) error {
	c.held = make([]omega.AllocationID, len(needs))
	c.refused = make([]int, workers)
	all := make([]*worker, workers)
	for i := range all {
		s, err := c.Register(fmt.Sprint("scheduler-", i), omega.Limits{})
		if err != nil {
			return err
		}
		all[i] = &worker{sched: s, snap: s.Snapshot()}
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

// worker is one scheduler with what it places by.
type worker struct {
	sched   *omega.Scheduler
	snap    *omega.Snapshot
	tx      omega.Txn
	refused int
	err     error
}

// place looks for room and claims it, until that succeeds or there is none.
func (w *worker) place(v resources.Vector) (omega.AllocationID, bool) {
	for fresh := false; ; {
		m, ok := w.snap.Find(omega.Query{Need: v}, omega.NextFit())
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
		if _, err := w.sched.Commit(&w.tx); err != nil {
			w.err = err
			return omega.AllocationID{}, false
		}
		if a, ok := w.tx.Allocation(0); ok {
			return a, true
		}
		// Somebody else was faster: look at everything again.
		w.refused++
		w.snap.Refresh(time.Now())
		fresh = true
	}
}

func (c *cell) conflicts() (sum int) {
	for _, n := range c.refused {
		sum += n
	}
	return sum
}

func (c *cell) check(tasks int) error {
	if len(c.held) != tasks {
		return fmt.Errorf("%d handles, want %d", len(c.held), tasks)
	}
	if err := c.Check(); err != nil {
		return err
	}
	live := make(map[omega.AllocationID]bool, tasks)
	for a := range c.Allocations() {
		live[a.ID] = true
	}
	for task, a := range c.held {
		if !live[a] {
			return fmt.Errorf("task %d: allocation %v is not live", task, a)
		}
		delete(live, a)
	}
	if len(live) > 0 {
		return fmt.Errorf("%d allocations are nobody's", len(live))
	}
	return nil
}
