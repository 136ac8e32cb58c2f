package main

import (
	"fmt"
	"sync"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

const workers, racks = 12, 3

// cluster is the workers: the cell says what they hold, their caches what they
// have read.
type cluster struct {
	shards   []shard
	space    *resources.Space
	total    resources.Vector
	cell     *omega.Cell
	topology *locality.Topology
	homes    locality.Replicas[int] // shard → the two workers it lives on
	caches   [workers]cache
}

// newCluster starts with every shard on two workers, in different racks.
func newCluster(shards []shard, read []*parsed) (cl *cluster, err error) {
	cl = &cluster{shards: shards}
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
		cl.caches[w].limit, cl.caches[w].data = 3*len(shards)/workers+1, map[int]*parsed{}
	}
	for i, p := range read {
		for _, w := range []int{i % workers, (i%workers + 4 + i/workers%4) % workers} {
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
	order []int // the one read first is the first to go
}

// run does a task, at once if its shard is there, else after reading it.
func (c *cache) run(shards []shard, t task) counts {
	c.mu.Lock()
	p := c.data[t.shard]
	c.mu.Unlock()
	if p == nil {
		p = shards[t.shard].read()
		c.put(t.shard, p)
	}
	found := counts{}
	t.do(p, found)
	return found
}

func (c *cache) put(shard int, p *parsed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.data[shard] != nil {
		return // another task has read it meanwhile
	}
	c.data[shard], c.order = p, append(c.order, shard)
	if len(c.order) > c.limit {
		delete(c.data, c.order[0])
		c.order = c.order[1:]
	}
}
