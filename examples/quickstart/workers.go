package main

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

const workers, racks = 12, 3

// cluster is the workers: what they hold is in the cell, what they have read in
// their caches.
type cluster struct {
	shards   []shard
	space    *resources.Space
	total    resources.Vector
	cell     *omega.Cell
	topology *locality.Topology
	homes    locality.Replicas[int] // shard → the two workers it lives on
	caches   [workers]cache
	cores    chan struct{} // of this machine, on which the workers are simulated
}

func newCluster(shards []shard, read []*parsed) (cl *cluster, err error) {
	cl = &cluster{shards: shards, cores: make(chan struct{}, runtime.GOMAXPROCS(0))}
	if cl.space, err = resources.NewSpace(resources.CPU(), resources.Memory()); err != nil {
		return nil, err
	}
	each, err := cl.space.Parse("cpu=4,memory=8Gi")
	if err != nil {
		return nil, err
	}
	cl.total = each.Scale(workers)
	machines, rackOf := make([]omega.Machine, workers), make([]string, workers)
	for w := range workers {
		machines[w] = omega.Machine{Name: fmt.Sprint("worker-", w), Capacity: each}
		rackOf[w] = fmt.Sprint("rack-", w*racks/workers)
		cl.caches[w] = cache{limit: 3*len(shards)/workers + 1, data: map[int]*parsed{}}
	}
	for i, p := range read {
		for _, w := range []int{i % workers, (i%workers + 4 + i/workers%4) % workers} { // two racks
			cl.homes.Add(i, locality.Node(w))
			cl.caches[w].put(i, p)
		}
	}
	if cl.cell, err = omega.NewCell(omega.Config{Space: cl.space, Machines: machines}); err != nil {
		return nil, err
	}
	cl.topology, err = locality.New(locality.Config{Levels: []string{"node", "rack", "any"}, Nodes: rackOf})
	return cl, err
}

// cache keeps what a worker read last: one and a half times its own shards.
type cache struct {
	mu    sync.Mutex
	limit int
	data  map[int]*parsed
	order []int // first in, first out
}

func (c *cache) put(shard int, p *parsed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.data[shard] == nil {
		c.data[shard], c.order = p, append(c.order, shard)
	}
	if len(c.order) > c.limit {
		delete(c.data, c.order[0])
		c.order = c.order[1:]
	}
}

// run does a task: at once if the worker has its shard, else after reading it.
func (cl *cluster) run(w locality.Node, t task) counts {
	cl.cores <- struct{}{}
	defer func() { <-cl.cores }()
	cl.caches[w].mu.Lock()
	p := cl.caches[w].data[t.shard]
	cl.caches[w].mu.Unlock()
	if p == nil {
		p = cl.shards[t.shard].read()
		cl.caches[w].put(t.shard, p)
	}
	return p.count(t.do)
}

func (p *parsed) count(do analysis) counts {
	c := counts{}
	for _, f := range p.files {
		do(p.fset, f, c)
	}
	return c
}
