package flow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/flow"
	"github.com/cellsched/cellsched/resources"
)

// A program has a cell, a topology of its workers and the caches' contents, as
// delay scheduling goes by. A scheduler for rounds takes its racks from the one and
// its tasks' data from the other.
func ExampleRacksOf() {
	slot := resources.Vector{1}
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{
		{Name: "worker-0", Capacity: slot}, {Name: "worker-1", Capacity: slot}, {Name: "worker-2", Capacity: slot},
	}})
	must(err)
	topology, err := locality.New(locality.Config{Nodes: []string{"r1", "r2", "r1"}})
	must(err)
	var caches locality.Replicas[string]
	caches.Add("shard-7", 0)
	reads := locality.Input[string]{Block: "shard-7", Bytes: 1 << 30}

	ours, err := cell.Register("flow", omega.Limits{})
	must(err)
	costs := quincy.DataCosts{Core: 20, Rack: 10, Unscheduled: 100}
	s, err := flow.New[string](flow.Config[string]{
		Cell: cell, Scheduler: ours, Slot: slot,
		Rack: flow.RacksOf(topology, locality.RackLocal),
		Arcs: func(arcs []quincy.Arc, _ string, state quincy.State, now int64) []quincy.Arc {
			return costs.Arcs(arcs, quincy.Blocks(nil, &caches, reads), state, now)
		},
	})
	must(err)

	now := time.Unix(0, 0)
	must(s.AddJob("scan", 0, 3))
	for _, task := range []string{"a", "b"} {
		must(s.Add(task, flow.Task[string]{Job: "scan", Need: slot}, now))
	}
	r, err := s.Round(context.Background(), now)
	must(err)
	for _, start := range r.Start {
		level := topology.Level(start.Machine.Node(), caches.Nodes(reads.Block)...)
		fmt.Printf("start %s on machine %d: %s\n", start.Task, start.Machine.Node(), topology.LevelName(level))
	}
	// Output:
	// start a on machine 2: rack
	// start b on machine 0: node
}
