package main

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// tenant is one tenant, with its scheduler.
type tenant struct {
	name, asks string
	window     int        // how many tasks it has to launch at a time: how small its jobs are
	work       []analysis // each of all shards

	*cluster
	*turns
	done   *atomic.Int64 // tasks of all tenants
	sched  *omega.Scheduler
	need   resources.Vector
	job    delay.Job
	user   drf.User
	parked bool

	tasks   []task // the first window of them can be launched
	running int
	ended   chan result
	answer  counts

	commits, conflicts int
	levels             [3]int // launches on the node, in the rack, anywhere
	waits              []time.Duration
	held               float64 // dominant share × seconds
}

type task struct {
	shard int
	do    analysis
	since time.Time // when it could first be launched
}

type result struct {
	id    omega.AllocationID
	found counts
}

// join makes the tenant ready to run on a cluster.
func (t *tenant) join(cl *cluster, order *turns, done *atomic.Int64, wait delay.Policy) (err error) {
	t.cluster, t.turns, t.done, t.ended = cl, order, done, make(chan result)
	for _, do := range t.work {
		for shard := range cl.shards {
			t.tasks = append(t.tasks, task{shard, do, time.Now()})
		}
	}
	var errs [4]error
	t.need, errs[0] = cl.space.Parse(t.asks)
	t.sched, errs[1] = cl.cell.Register(t.name)
	t.user, errs[2] = order.heap.Add(t, 1)
	t.job, errs[3] = delay.New(wait)
	return errors.Join(errs[:]...)
}

// run launches the tenant's tasks until all have ended, or until ctx has and no
// task is running.
func (t *tenant) run(ctx context.Context) (err error) {
	stop := ctx.Done()
	for {
		room := t.roomLater() // asked before looking for room, so that none is missed
		var order <-chan struct{}
		var relax <-chan time.Time
		if err == nil && len(t.tasks) > 0 {
			var launched bool
			if launched, order, relax, err = t.launch(); launched {
				continue
			}
		}
		if t.running == 0 && (err != nil || len(t.tasks) == 0) {
			return err
		}
		select {
		case r := <-t.ended:
			t.running--
			t.done.Add(1)
			t.answer.add(r.found)
			err = errors.Join(err, t.sched.Release(r.id), t.giveBack(t, true))
		case <-order:
		case <-room:
		case <-relax:
		case <-stop:
			stop, err = nil, errors.Join(err, context.Cause(ctx), t.pass(t, len(t.tasks) > 0))
		}
	}
}

// launch launches a task if it is the tenant's turn, there is room, and that is
// near enough to the data of a task. If not it returns what to wait for.
func (t *tenant) launch() (launched bool, order <-chan struct{}, relax <-chan time.Time, err error) {
	mine, order, err := t.take(t)
	if !mine || err != nil {
		return false, order, nil, err
	}
	now := time.Now()
	m, i, level, found := t.place()
	if !found {
		return false, nil, nil, t.giveBack(t, false)
	}
	job := t.job // a copy: the launch counts once it is committed
	d, err := job.Offer(now, level)
	if !d.Launch {
		t.job = job
		if at, ok := job.NextRelax(now); ok {
			relax = time.After(at.Sub(now))
		}
		return false, nil, relax, errors.Join(err, t.giveBack(t, false), t.pass(t, false))
	}

	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: m, Account: t.cell.Account(t.name), Need: t.need})
	granted, err := t.sched.Commit(&tx)
	if t.commits++; granted == 0 {
		t.conflicts++
		return true, nil, nil, errors.Join(err, t.giveBack(t, false)) // and again, on a fresh snapshot
	}
	id, _ := tx.Allocation(0)
	next := t.tasks[i]
	t.tasks[i], t.tasks, t.job = t.tasks[0], t.tasks[1:], job
	if len(t.tasks) >= t.window {
		t.tasks[t.window-1].since = now // comes into the window
	}
	t.levels[level]++
	t.waits = append(t.waits, now.Sub(next.since))
	t.running++
	go func() { t.ended <- result{id, t.caches[m.Node()].run(t.shards, next)} }()
	if len(t.tasks) == 0 {
		err = t.pass(t, true)
	}
	return true, nil, nil, err
}

// place finds a machine with room, as near as any to the data of a task, and
// the task.
func (t *tenant) place() (m omega.MachineID, i int, level locality.Level, found bool) {
	window := t.tasks[:min(t.window, len(t.tasks))]
	snap := t.sched.Snapshot()
	snap.Refresh()
	for level = range t.topology.Any() + 1 {
		m, found = snap.FirstFit(t.need, func(node locality.Node) bool {
			i = slices.IndexFunc(window, func(k task) bool {
				return t.topology.Level(node, t.homes.Nodes(k.shard)...) <= level
			})
			return i >= 0
		})
		if found {
			break
		}
	}
	return m, i, level, found
}
