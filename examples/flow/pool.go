package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

const (
	workers = 40
	perRack = 8
	slots   = 2 // of each worker; a task takes one
	shards  = 120
	copies  = 3 // of each shard, at most
	tasks   = 600
	arrive  = 60 // seconds within which they come
	seed    = 1
	askAt   = 50

	compute  = 8 // seconds that a task takes when its shard is there
	nearCost = 1 // seconds a gigabyte more, from a worker in the rack
	farCost  = 4 // and from elsewhere
)

var slot = resources.Vector{1}

// task reads a shard.
type task struct {
	id    int
	at    int // second in which it comes
	shard int
	bytes int64 // in gigabytes
	ends  int   // second, while it runs
}

func (t *task) String() string { return fmt.Sprintf("task %d (%d GB)", t.id, t.bytes) }

// pool is a cell of workers, the shards that they hold, and the jobs to come.
type pool struct {
	cell     *omega.Cell
	topology *locality.Topology
	holds    *locality.Replicas[int]
	work     []*task
	now      int
}

// newPool makes up a pool, always the same: shards are in one to three caches, and
// some are read by many more tasks than others.
func newPool() (*pool, error) {
	var machines []omega.Machine
	for i := range workers {
		rack := map[string]string{"rack": fmt.Sprint("rack-", i/perRack)}
		machines = append(machines, omega.Machine{Name: fmt.Sprint("worker-", i), Capacity: slot.Scale(slots), Attributes: rack})
	}
	space, err := resources.NewSpace(resources.Dimension{Name: "slots"})
	if err != nil {
		return nil, err
	}
	cell, err := omega.NewCell(omega.Config{Space: space, Machines: machines})
	if err != nil {
		return nil, err
	}
	topology, err := cell.Topology("rack", "zone")
	if err != nil {
		return nil, err
	}
	holds, err := locality.NewReplicas[int](shards * copies)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	size := make([]int64, shards)
	for shard := range shards {
		size[shard] = 1 + rng.Int64N(6)
		for range 1 + rng.IntN(copies) {
			holds.Add(shard, locality.Node(rng.IntN(workers)))
		}
	}
	p := &pool{cell: cell, topology: topology, holds: holds}
	for id := range tasks {
		shard := min(rng.IntN(shards), rng.IntN(shards))
		p.work = append(p.work, &task{id: id, at: rng.IntN(arrive), shard: shard, bytes: size[shard]})
	}
	slices.SortStableFunc(p.work, func(a, b *task) int { return a.at - b.at })
	return p, nil
}

// fetch returns how many gigabytes worker n has to fetch for t, from near and far.
func (p *pool) fetch(t *task, n locality.Node) (near, far int64) {
	switch p.topology.Level(n, p.holds.Nodes(t.shard)...) {
	case locality.NodeLocal:
		return 0, 0
	case locality.RackLocal:
		return t.bytes, 0
	}
	return 0, t.bytes
}

// clock is the pool's time.
func (p *pool) clock() time.Time { return time.Unix(int64(p.now), 0) }

// scheduler places tasks on the pool.
type scheduler interface {
	add(t *task) error
	// place calls start for each task that can start now.
	place(ctx context.Context, start func(t *task, n locality.Node)) error
	done(t *task) error
	// why returns the reason why some task waits.
	why() (string, error)
}

// result is the outcome of a run.
type result struct {
	tasks     int
	near, far int64 // gigabytes
	took      int
	waited    int // in total
	why       string
}

// run lets the tasks come, start and end, second by second.
func (p *pool) run(ctx context.Context, s scheduler) (result, error) {
	var r result
	var running []*task
	for next := 0; r.tasks < len(p.work) || len(running) > 0; p.now++ {
		for ; next < len(p.work) && p.work[next].at == p.now; next++ {
			if err := s.add(p.work[next]); err != nil {
				return r, err
			}
		}
		err := s.place(ctx, func(t *task, n locality.Node) {
			near, far := p.fetch(t, n)
			t.ends = p.now + compute + nearCost*int(near) + farCost*int(far)
			r.near, r.far = r.near+near, r.far+far
			r.tasks++
			r.waited += p.now - t.at
			r.took = max(r.took, t.ends)
			running = append(running, t)
		})
		if err != nil {
			return r, err
		}
		if p.now == askAt {
			if r.why, err = s.why(); err != nil {
				return r, err
			}
		}
		for _, t := range running {
			if t.ends == p.now+1 {
				err = s.done(t)
			}
			if err != nil {
				return r, err
			}
		}
		running = slices.DeleteFunc(running, func(t *task) bool { return t.ends == p.now+1 })
	}
	return r, p.cell.Check()
}
