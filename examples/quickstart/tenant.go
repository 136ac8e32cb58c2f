package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// tenant is one tenant, and its scheduler.
type tenant struct {
	name, asks string // asks is what each of its tasks needs
	window     int    // how many tasks it shows at a time: how small its jobs are
	work       []analysis
	*cluster
	*turns
	sched  *omega.Scheduler
	need   resources.Vector
	user   drf.User
	job    delay.Job
	tried  int       // turns.ended when it last found no place
	retry  time.Time // when it may find one all the same
	parked bool      // it asks for no turn now

	tasks   []task
	running int
	back    chan result
	answer  counts

	commits, conflicts int
	levels             [3]int // launches on the node, in the rack, anywhere
	waits              []time.Duration
	held               float64 // dominant share × seconds
}

type task struct {
	shard int
	do    analysis
	since time.Time // when it was first shown
}

type result struct {
	id    omega.AllocationID
	found counts
}

// run launches all tasks, and returns when they have ended, or when ctx has and
// no task is left running.
func (t *tenant) run(ctx context.Context, progress func()) (err error) {
	stop := ctx.Done()
	for t.running > 0 || len(t.tasks) > 0 && err == nil {
		var wait <-chan struct{}
		var retry <-chan time.Time
		if len(t.tasks) > 0 && err == nil {
			var mine bool
			if mine, wait, err = t.turn(t); mine && err == nil {
				err = t.launch()
				continue
			}
			if !t.retry.IsZero() {
				retry = time.After(time.Until(t.retry))
			}
		}
		select {
		case r := <-t.back:
			progress()
			t.running--
			for k, n := range r.found {
				t.answer[k] += n
			}
			err = errors.Join(err, t.sched.Release(r.id), t.do(func() error {
				t.ended++
				return t.heap.Credit(t.user, t.need)
			}))
		case <-wait:
		case <-retry:
		case <-stop:
			stop, err = nil, errors.Join(err, context.Cause(ctx), t.do(func() error { return t.park(t) }))
		}
	}
	return err
}

// launch places a task, commits it, and starts it, if there is room, and if it
// need not wait for room nearer to its data.
func (t *tenant) launch() error {
	now, job := time.Now(), t.job // a copy: a launch counts once it is committed
	m, i, level, found := t.place()
	if !found {
		return t.do(func() error { return t.heap.Credit(t.user, t.need) })
	}
	d, err := job.Offer(now, level)
	if !d.Launch {
		t.job = job
		t.retry, _ = job.NextRelax(now)
		return errors.Join(err, t.do(func() error { return errors.Join(t.heap.Credit(t.user, t.need), t.park(t)) }))
	}
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: m, Account: t.cell.Account(t.name), Need: t.need})
	granted, err := t.sched.Commit(&tx)
	t.tried = -1 // whatever came of it, try again
	if t.commits++; granted == 0 {
		t.conflicts++
		return errors.Join(err, t.do(func() error { return t.heap.Credit(t.user, t.need) }))
	}
	id, _ := tx.Allocation(0)
	next := t.tasks[i]
	t.tasks[i], t.tasks, t.job = t.tasks[0], t.tasks[1:], job
	if len(t.tasks) >= t.window {
		t.tasks[t.window-1].since = now
	}
	t.levels[level]++
	t.waits = append(t.waits, now.Sub(next.since))
	t.running++
	go func() { t.back <- result{id, t.cluster.run(m.Node(), next)} }()
	if len(t.tasks) > 0 {
		return nil
	}
	return t.do(func() error { t.open--; return t.park(t) })
}

// place finds a machine with room, as near as any to the data of a task that is
// shown, and that task.
func (t *tenant) place() (m omega.MachineID, i int, level locality.Level, found bool) {
	window := t.tasks[:min(t.window, len(t.tasks))]
	snap := t.sched.Snapshot()
	for snap.Refresh(); level <= t.topology.Any(); level++ {
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
