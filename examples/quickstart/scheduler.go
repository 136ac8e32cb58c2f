package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

const workers, racks, window, cpu, gib = 12, 3, 6, 1000, 1 << 30 // a job is a window of a tenant's tasks

// cluster is the cell that the tenants share, under one policy.
type cluster struct {
	name  string
	fifo  bool
	delay delay.Policy
	shown *atomic.Pointer[omega.Cell] // on the page
}

var errFinished = errors.New("no task is left")

// run does the whole job. It returns when no task is left, or running after an error.
func (cl *cluster) run(ctx context.Context, shards []*shard, all []*tenant) error {
	var machines []omega.Machine
	var running sync.WaitGroup // schedulers and tasks
	each := resources.Vector{4 * cpu, 8 * gib}
	for w := range workers {
		rack := map[string]string{"rack": fmt.Sprint("rack-", w*racks/workers)}
		machines = append(machines, omega.Machine{Name: fmt.Sprint("worker-", w), Capacity: each, Attributes: rack})
	}
	cell, err := omega.NewCell(omega.Config{Machines: machines})
	cl.shown.Store(cell)
	topology, errTopology := cell.Topology("rack")
	gate, errGate := loop.NewGate(each.Scale(workers), time.Second)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if err := errors.Join(err, errTopology, errGate); err != nil {
		return err
	}
	p, weight := newPool(cl.name, shards, all), 1.0
	for _, t := range all {
		sched, err := cell.Register(t.name, omega.Limits{})
		order, errOrder := loop.NewByTurn[[]*task](gate, weight, sched.Usage, nil)
		near, errNear := loop.NewNear(cl.delay, topology, omega.NextFit(), func(j *loop.Job[[]*task], i int) []locality.Node {
			return p.homes.Nodes(j.Key[i].shard.id)
		})
		l, errLoop := loop.New(loop.Config[[]*task]{
			Store: omega.Local{Scheduler: sched}, Order: order, Place: near.Place, Attempts: -1, Fruitless: -1,
			Observe: func(e loop.Event[[]*task]) {
				for i, placed := range e.Tasks {
					k, id := e.Pending.Job().Key[placed.Index], e.Allocations[i]
					running.Go(func() {
						left := p.run(t, k, id.Node(), placed.Level)
						if err := sched.Release(id); err != nil {
							stop(err)
						} else if left == 0 {
							stop(errFinished)
						}
					})
				}
			},
		})
		errs := []error{err, errOrder, errNear, errLoop}
		for job := range slices.Chunk(t.left, window) {
			_, err := l.Submit(time.Now(), loop.Job[[]*task]{Key: job, Need: t.need, Tasks: len(job)})
			errs = append(errs, err)
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		running.Go(func() { stop(l.Run(ctx)) })
		t.total, t.stats = each.Scale(workers), l.Stats
		if cl.fifo {
			weight /= 1000 // later ones seem to have more, as soon as they have one task
		}
	}
	running.Wait()
	if err := context.Cause(ctx); !errors.Is(err, errFinished) {
		return err
	}
	return cell.Check()
}
