package main

import (
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
)

// placer places and releases tasks by their numbers. Its methods report whether that
// went well: false is no room, or an error of the cell's, which is a fault here.
type placer interface {
	place(task int, n need) bool
	release(task int) bool
	// placeGang places so many tasks alike from number first on, each on a machine of
	// its own, all or none; releaseGang releases them.
	placeGang(first, tasks int, n need) bool
	releaseGang(first, tasks int) bool
}

// setting describes a placer: its machines, and its tasks with numbers below a bound.
type setting struct {
	capacity        need
	machines, tasks int
}

// cellPlacer is a placer by one scheduler of a cell.
type cellPlacer struct {
	worker
	held []omega.AllocationID // by task

	gang  omega.Txn
	used  []int // by node, the last gang that had a machine there
	gangs int
}

func openCell(s setting) (placer, error) {
	c, err := newCells(s.capacity, s.machines, 1, "next fit")
	if err != nil {
		return nil, err
	}
	return newCellPlacer(c.cells[0], "one", s)
}

func newCellPlacer(c *omega.Cell, name string, s setting) (*cellPlacer, error) {
	sched, err := c.Register(name, omega.Limits{})
	if err != nil {
		return nil, err
	}
	return &cellPlacer{
		worker: worker{sched: sched, snap: sched.Snapshot(), policy: omega.NextFit()},
		held:   make([]omega.AllocationID, s.tasks), used: make([]int, s.machines), gang: omega.Txn{Gang: true},
	}, nil
}

func (p *cellPlacer) place(task int, n need) (ok bool) {
	p.held[task], ok = p.worker.place(vector(n))
	return ok
}

// release is a commit, too, so that the snapshot knows of the room.
func (p *cellPlacer) release(task int) bool { return p.releaseGang(task, 1) }

func (p *cellPlacer) releaseGang(first, tasks int) bool {
	p.tx.Reset()
	for _, a := range p.held[first : first+tasks] {
		p.tx.Release(a)
	}
	if _, p.err = p.commit(&p.tx); p.err != nil {
		return false
	}
	for i := range tasks {
		if p.err = p.tx.Err(i); p.err != nil {
			return false
		}
	}
	return true
}

func (p *cellPlacer) placeGang(first, tasks int, n need) bool {
	p.gangs++
	p.gang.Reset()
	q := omega.Query{Need: vector(n), Allow: func(node locality.Node) bool { return p.used[node] != p.gangs }}
	for range tasks {
		m, ok := p.snap.Find(q, p.policy)
		if !ok {
			return false
		}
		p.used[m.Node()] = p.gangs
		p.gang.Claim(omega.Claim{Machine: m, Need: q.Need})
	}
	var granted int
	if granted, p.err = p.commit(&p.gang); p.err != nil || granted < tasks {
		return false
	}
	for i := range tasks {
		p.held[first+i], _ = p.gang.Allocation(i)
	}
	return true
}

// lockPlacer is a placer by the mutex.
type lockPlacer struct{ *lockCell }

func openLock(s setting) (placer, error) {
	c := newLockCell(s.capacity, s.machines, false)
	c.held = make([]handle, s.tasks)
	return lockPlacer{c}, nil
}

func (p lockPlacer) place(task int, n need) (ok bool) {
	p.held[task], ok = p.claim(n)
	return ok
}

func (p lockPlacer) release(task int) bool { return p.releaseGang(task, 1) }

func (p lockPlacer) releaseGang(first, tasks int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !slices.ContainsFunc(p.held[first:first+tasks], func(h handle) bool { return !p.giveBack(h) })
}

// placeGang goes once around from the cursor, which stays at the last machine.
func (p lockPlacer) placeGang(first, tasks int, n need) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	placed := 0
	for i := 0; i < len(p.free) && placed < tasks; i++ {
		at := (p.cursor + i) % len(p.free)
		if n.fits(&p.free[at]) {
			p.held[first+placed] = p.take(at, n)
			placed++
		}
	}
	if placed < tasks {
		for _, h := range p.held[first : first+placed] {
			p.giveBack(h)
		}
		return false
	}
	p.cursor = int(p.slab.at(p.held[first+tasks-1].index).machine)
	return true
}
