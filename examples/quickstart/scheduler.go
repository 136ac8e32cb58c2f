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

const workers, racks, window = 12, 3, 6 // window is how many of its tasks a tenant looks at

// cluster is what the tenants share: the workers, and the order of turns.
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
	changed  sync.Cond      // others may be next, or find room; its lock guards what follows
	heap     drf.Heap[string]
	err      error // ends the run
}

// change makes a change, and has all look whether they are next.
func (cl *cluster) change(by func() error) {
	cl.changed.L.Lock()
	defer cl.changed.L.Unlock()
	cl.err = errors.Join(cl.err, by())
	cl.changed.Broadcast()
}

// run does the whole job. It returns when no task is left, or running after an error.
func (cl *cluster) run(ctx context.Context, shards []*shard, all []*tenant) error {
	each, errs := resources.Vector{4 * cpu, 8 * gib}, [6]error{}
	cl.total, cl.cores = each.Scale(workers), make(chan struct{}, runtime.GOMAXPROCS(0))
	cl.begin, cl.changed.L = time.Now(), &sync.Mutex{}
	machines, rackOf := make([]omega.Machine, workers), make([]string, workers)
	for w := range workers {
		machines[w] = omega.Machine{Name: fmt.Sprint("worker-", w), Capacity: each}
		rackOf[w] = fmt.Sprint("rack-", w*racks/workers)
		cl.spare[w] = make([]atomic.Pointer[shard], len(shards)/workers+1) // half as many as live there
	}
	for i := range shards { // two racks
		cl.homes.Add(i, locality.Node(i%workers))
		cl.homes.Add(i, locality.Node((i%workers+4+i/workers%4)%workers))
	}
	if !cl.fifo { // without a total all shares are 0, and of equals the first is next
		errs[0] = cl.heap.SetTotal(cl.total)
	}
	cl.cell, errs[1] = omega.NewCell(omega.Config{Machines: machines})
	cl.topology, errs[2] = locality.New(locality.Config{Levels: []string{"node", "rack", "any"}, Nodes: rackOf})
	for _, t := range all {
		t.cluster, t.tried = cl, -1
		t.user, errs[3] = cl.heap.Add(t.name, 1)
		t.sched, errs[4] = cl.cell.Register(t.name, omega.Limits{})
		t.job, errs[5] = delay.New(cl.delay)
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
	return errors.Join(context.Cause(ctx), cl.err, cl.cell.Check())
}

// tenant is one tenant, and its scheduler.
type tenant struct {
	name string
	need resources.Vector // of each of its tasks
	work []analysis       // for each shard
	*cluster
	user              drf.User
	job               delay.Job
	tasks             []task
	launched, commits int        // launched tasks are the first ones
	tried             int64      // cluster.done when it last found no place
	own               sync.Mutex // guards what ending tasks use too
	sched             *omega.Scheduler
	answer            map[string]int
}

type task struct {
	shard      *shard
	do         analysis
	level      locality.Level // it ran at
	start, end time.Duration  // since the run began
}

// run launches all tasks, unless there is an error or ctx ends. While it waits,
// some task is running, whose end wakes it.
func (t *tenant) run(ctx context.Context) {
	t.changed.L.Lock()
	for t.launched < len(t.tasks) && t.err == nil && ctx.Err() == nil {
		var next drf.User
		done := t.done.Load()
		if t.tried != done { // else it would find what it found before
			t.err = t.heap.Demand(t.user, t.need)
			next, _ = t.heap.Pick(t.total)
		}
		if next != t.user {
			t.changed.Wait()
			continue
		}
		// Charged before it has a place, so that the next one can look for one too.
		t.tried, t.err = done, errors.Join(t.err, t.heap.Charge(t.user, t.need))
		t.changed.Broadcast()
		t.changed.L.Unlock()
		if !t.launch() {
			t.change(func() error { return t.heap.Credit(t.user, t.need) })
		}
		t.changed.L.Lock()
	}
	t.changed.L.Unlock()
	t.change(func() error { return t.heap.Park(t.user) })
}

// launch places, commits and starts a task, unless it has to wait for room, or for room near its data.
func (t *tenant) launch() bool {
	t.own.Lock()
	defer t.own.Unlock()
	now, job := time.Now(), t.job // a copy: a launch counts once it is committed
	m, i, level, found := t.place()
	if !found { // it stays next, so that others do not take what becomes free
		return false
	}
	if d, err := job.Offer(now, level); !d.Launch { // others go first until a task ends
		t.job = job
		t.change(func() error { return errors.Join(err, t.heap.Park(t.user)) })
		return false
	}
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: m, Account: t.cell.Account(t.name), Need: t.need})
	granted, err := t.sched.Commit(&tx)
	t.commits, t.tried = t.commits+1, -1 // whatever came of it, try again
	if granted == 0 {                    // another one was faster: a conflict
		t.change(func() error { return err })
		return false
	}
	id, _ := tx.Allocation(0)
	k := &t.tasks[t.launched]
	*k, t.tasks[i] = t.tasks[i], *k
	k.level, k.start = level, now.Sub(t.begin)
	t.job, t.launched = job, t.launched+1
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
		t.change(func() error { return errors.Join(err, t.heap.Credit(t.user, t.need)) })
	})
	return true
}

// place finds room for one of the next tasks, as near as any to its data.
func (t *tenant) place() (m omega.MachineID, i int, level locality.Level, found bool) {
	for t.sched.Snapshot().Refresh(time.Time{}); level <= t.topology.Any(); level++ {
		for i = t.launched; i < min(t.launched+window, len(t.tasks)); i++ {
			homes := t.homes.Nodes(t.tasks[i].shard.id)
			near := func(node locality.Node) bool { return t.topology.Level(node, homes...) <= level }
			if m, found = t.sched.Snapshot().Find(omega.Query{Need: t.need, Allow: near}, omega.NextFit()); found {
				return m, i, level, true
			}
		}
	}
	return m, i, level, false
}
