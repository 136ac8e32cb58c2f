package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

const workers, racks, window, cpu, gib = 12, 3, 6, 1000, 1 << 30 // a tenant looks at a window of its tasks

// cluster is what the tenants share: the workers, and the gate that evens out their shares.
type cluster struct {
	name     string
	fifo     bool
	delay    delay.Policy
	cell     *omega.Cell
	topology *locality.Topology
	total    resources.Vector
	homes    locality.Replicas[int]           // shard → the two workers it lives on
	spare    [workers][]atomic.Pointer[shard] // what workers keep of shards that live elsewhere
	cores    chan struct{}                    // of this machine: else schedulers starve behind all that runs
	begin    time.Time
	steps    int64 // tasks, of which so many are done
	done     atomic.Int64
	running  sync.WaitGroup // schedulers and tasks
	tenants  []*tenant
	gate     *drf.Gate
	fail     context.CancelCauseFunc // ends the run; without an error it does nothing
}

// changed has all look whether they may take now, or find room. An error ends the run.
func (cl *cluster) changed(err error) {
	if err != nil {
		cl.fail(err)
	}
	for _, t := range cl.tenants {
		select {
		case t.look <- struct{}{}:
		default: // it will look anyway
		}
	}
}

// run does the whole job. It returns when no task is left, or running after an error.
func (cl *cluster) run(ctx context.Context, shards []*shard, all []*tenant) error {
	each, errs, weight := resources.Vector{4 * cpu, 8 * gib}, [7]error{}, 1.0
	cl.total, cl.cores, cl.begin, cl.tenants = each.Scale(workers), make(chan struct{}, runtime.GOMAXPROCS(0)), time.Now(), all
	ctx, cl.fail = context.WithCancelCause(ctx)
	defer cl.fail(nil)
	defer context.AfterFunc(ctx, func() { cl.changed(nil) })()
	machines, rackOf := [workers]omega.Machine{}, [workers]string{}
	for w := range workers {
		machines[w], rackOf[w] = omega.Machine{Name: fmt.Sprint("worker-", w), Capacity: each}, fmt.Sprint("rack-", w*racks/workers)
		cl.spare[w] = make([]atomic.Pointer[shard], len(shards)/workers+1) // half as many as live there
	}
	for i := range shards { // two racks
		cl.homes.Add(i, locality.Node(i%workers))
		cl.homes.Add(i, locality.Node((i%workers+4+i/workers%4)%workers))
	}
	cl.gate, errs[0] = drf.NewGate(cl.total, time.Second)
	cl.cell, errs[1] = omega.NewCell(omega.Config{Machines: machines[:]})
	cl.topology, errs[2] = locality.New(locality.Config{Levels: []string{"node", "rack", "any"}, Nodes: rackOf[:]})
	for _, t := range all {
		t.cluster, t.tried, t.look = cl, -1, make(chan struct{}, 1)
		if t.seat, errs[3] = cl.gate.Join(weight); cl.fifo {
			weight /= 1000 // later ones seem to have more, as soon as they have one task
		}
		t.sched, errs[4] = cl.cell.Register(t.name, omega.Limits{})
		t.account, errs[5] = cl.cell.Account(t.name)
		t.job, errs[6] = delay.New(cl.delay)
		if err := errors.Join(errs[:]...); err != nil {
			return err
		}
		for i := range len(t.work) * len(shards) {
			t.tasks = append(t.tasks, task{shard: shards[i%len(shards)], do: t.work[i/len(shards)]})
		}
		cl.steps += int64(len(t.tasks))
	}
	for _, t := range all {
		cl.running.Go(func() { t.run(ctx) })
	}
	cl.running.Wait()
	return errors.Join(context.Cause(ctx), cl.cell.Check())
}

type tenant struct {
	name string
	need resources.Vector // of each of its tasks
	work []analysis       // for each shard
	*cluster
	seat              *drf.Seat
	look              chan struct{} // something has changed
	job               delay.Job
	tasks             []task
	launched, commits int        // launched tasks are the first ones
	tried             int64      // cluster.done when it last found no place
	own               sync.Mutex // guards what ending tasks use too
	sched             *omega.Scheduler
	account           omega.Account
	answer            map[string]int
}

type task struct {
	shard      *shard
	do         analysis
	level      locality.Level // it ran at
	start, end time.Duration  // since the run began
}

// run launches all tasks, unless ctx ends. While it waits, some task is running, whose end wakes it.
func (t *tenant) run(ctx context.Context) {
	for t.launched < len(t.tasks) && ctx.Err() == nil {
		yes, passed, err := false, 0, error(nil)
		if t.tried != t.done.Load() { // else it would find what it found before
			yes, err = t.seat.Ask(t.need, time.Now())
		}
		switch {
		case yes && t.launch():
			t.seat.Keep()
			t.seat.LetGo()
		case yes: // others go first until a task ends; too often, and it keeps them off a worker with its data
			if passed, err = t.seat.Miss(t.need, time.Now()); passed > workers {
				t.seat.Hold(uint32(t.homes.Nodes(t.tasks[t.launched].shard.id)[0]), time.Now())
			}
		case err == nil: // others have less
			<-t.look
			continue
		}
		t.changed(err)
	}
	t.seat.Rest()
	t.changed(nil)
}

// launch places, commits and starts a task, unless it has to wait for room, or for room near its data.
func (t *tenant) launch() bool {
	t.own.Lock()
	defer t.own.Unlock()
	t.tried = t.done.Load()
	now, job := time.Now(), t.job // a copy: a launch counts once it is committed
	m, i, level, found := t.place()
	if !found {
		return false
	}
	if d, err := job.Offer(now, level); !d.Launch {
		t.job = job
		t.changed(err)
		return false
	}
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: m, Account: t.account, Need: t.need})
	granted, err := t.sched.Commit(&tx)
	if t.commits, t.tried = t.commits+1, -1; granted == 0 { // another one was faster: a conflict
		t.changed(err)
		return false
	}
	id, _ := tx.Allocation(0)
	k := &t.tasks[t.launched]
	*k, t.tasks[i] = t.tasks[i], *k
	k.level, k.start, t.job, t.launched = level, now.Sub(t.begin), job, t.launched+1
	t.running.Go(func() {
		t.cores <- struct{}{}
		s, found := k.shard, map[string]int{}
		if slot := &t.spare[m.Node()][s.id%len(t.spare[0])]; level > 0 { // s does not live there
			if s = slot.Load(); s == nil || s.id != k.shard.id {
				s = read(k.shard.id, k.shard.paths)
				slot.Store(s)
			}
		}
		k.do(s, found)
		<-t.cores
		t.own.Lock()
		err := t.sched.Release(id)
		for name, n := range found {
			t.answer[name] += n
		}
		t.own.Unlock()
		k.end = time.Since(t.begin)
		progress(t.cluster.name, t.done.Add(1), t.steps)
		t.changed(errors.Join(err, t.seat.Return(t.need)))
	})
	return true
}

// place finds room for one of the next tasks, as near as any to its data.
func (t *tenant) place() (m omega.MachineID, i int, level locality.Level, found bool) {
	held, barred := t.seat.Barred(time.Now())
	for t.sched.Snapshot().Refresh(time.Time{}); level <= t.topology.Any(); level++ {
		for i = t.launched; i < min(t.launched+window, len(t.tasks)); i++ {
			near := func(n locality.Node) bool {
				return t.topology.Level(n, t.homes.Nodes(t.tasks[i].shard.id)...) <= level && (!barred || uint32(n) != held)
			}
			if m, found = t.sched.Snapshot().Find(omega.Query{Need: t.need, Allow: near}, omega.NextFit()); found {
				return m, i, level, true
			}
		}
	}
	return m, i, level, false
}
