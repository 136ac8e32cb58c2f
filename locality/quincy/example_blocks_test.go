package quincy_test

import (
	"context"
	"fmt"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// A program knows already how its workers are connected, and which worker holds
// which shard of how many bytes. A planner needs no more: a rack's number is the
// topology's, and a task's blocks are looked up whenever its arcs are asked for.
// Worker 0 holds the input of both tasks, so one of them fetches the smaller shard
// within the rack.
func ExampleBlocks() {
	topology, err := locality.New(locality.Config{Nodes: []string{"r1", "r1", "r2"}})
	must(err)
	var caches locality.Replicas[string]
	caches.Add("edges", 0)
	caches.Add("names", 0)
	caches.Add("names", 2)
	reads := map[string][]locality.Input[string]{
		"rank": {{Block: "edges", Bytes: 6 << 30}, {Block: "names", Bytes: 1 << 30}},
		"list": {{Block: "edges", Bytes: 3 << 30}},
	}

	costs := quincy.DataCosts{Core: 20, Rack: 10, Unscheduled: 1000}
	p, err := quincy.New[string](quincy.Config[string]{
		Arcs: func(arcs []quincy.Arc, task string, s quincy.State, now int64) []quincy.Arc {
			return costs.Arcs(arcs, quincy.Blocks(nil, &caches, reads[task]...), s, now)
		},
	})
	must(err)
	for n := range locality.Node(3) {
		rack := quincy.Rack(topology.Group(n, locality.RackLocal))
		must(p.AddMachine(quincy.Machine{Node: n, Rack: rack, Slots: 1}))
	}
	must(p.AddJob("graph", 0, 3))
	must(p.AddTask("rank", "graph", 0))
	must(p.AddTask("list", "graph", 0))

	plan, err := p.Plan(context.Background(), 0)
	must(err)
	for _, c := range plan.Changes {
		near := caches.Near(topology, c.To, locality.NodeLocal, reads[c.Task]...)
		fmt.Printf("%v %s on worker %d, which has %d GB: cost %d\n", c.Action, c.Task, c.To, near>>30, c.Cost)
	}
	// Output:
	// place rank on worker 0, which has 7 GB: cost 0
	// place list on worker 1, which has 0 GB: cost 30
}
