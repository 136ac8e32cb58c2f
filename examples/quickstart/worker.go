package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

type tenant struct {
	name  string
	need  resources.Vector // of each of its tasks
	work  []analysis       // for each shard
	total resources.Vector // of the cell
	left  []*task
	stats func() loop.Stats

	mu     sync.Mutex // guards the state that tasks use
	tasks  []*task    // in the order in which they started
	answer map[string]int
}

type task struct {
	shard      *shard
	do         analysis
	level      locality.Level // it ran at
	start, end time.Duration  // since the run began
}

// pool runs tasks on the workers.
type pool struct {
	name  string
	homes locality.Replicas[int]           // shard → the two workers it lives on
	spare [workers][]atomic.Pointer[shard] // copies that workers keep of shards that live elsewhere
	cores chan struct{}                    // of this machine: else schedulers starve behind all that runs
	begin time.Time
	steps int64 // tasks, of which so many are done
	done  atomic.Int64
}

// newPool begins a run of all tasks of the tenants.
func newPool(name string, shards []*shard, all []*tenant) *pool {
	p := &pool{name: name, cores: make(chan struct{}, runtime.GOMAXPROCS(0)), begin: time.Now()}
	for i := range shards { // two racks
		p.homes.Add(i, locality.Node(i%workers))
		p.homes.Add(i, locality.Node((i%workers+4+i/workers%4)%workers))
	}
	for w := range p.spare {
		p.spare[w] = make([]atomic.Pointer[shard], len(shards)/workers+1) // half as many as live there
	}
	for _, t := range all {
		for _, do := range t.work {
			for _, s := range shards {
				t.left = append(t.left, &task{shard: s, do: do})
			}
		}
		p.steps += int64(len(t.left))
	}
	return p
}

// run runs a task on a worker, which reads the shard again if it is not near. It returns
// how many tasks are left.
func (p *pool) run(t *tenant, k *task, worker locality.Node, level locality.Level) (left int64) {
	k.level, k.start = level, time.Since(p.begin)
	t.mu.Lock()
	t.tasks = append(t.tasks, k)
	t.mu.Unlock()
	p.cores <- struct{}{}
	s, found := k.shard, map[string]int{}
	if slot := &p.spare[worker][s.id%len(p.spare[0])]; level > 0 { // s does not live there
		if s = slot.Load(); s == nil || s.id != k.shard.id {
			s = read(k.shard.id, k.shard.paths)
			slot.Store(s)
		}
	}
	k.do(s, found)
	<-p.cores
	t.mu.Lock()
	for name, n := range found {
		t.answer[name] += n
	}
	t.mu.Unlock()
	k.end = time.Since(p.begin)
	done := p.done.Add(1)
	progress(p.name, done, p.steps)
	return p.steps - done
}
