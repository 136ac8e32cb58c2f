package quincy_test

import (
	"fmt"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// Two machines with one slot each, and three tasks that all have their gigabyte
// on machine 0. One runs there, one reads over the rack's switch, and one waits,
// which costs more with time. Neither is stopped for it, as work would be lost;
// when one is done, the place near the data goes to who gains from it.
func ExamplePlanner() {
	costs := quincy.DataCosts{Core: 20, Rack: 10, Wait: 1, Work: 1, Unscheduled: 100}
	input := []quincy.Block{{Bytes: 1 << 30, Nodes: []locality.Node{0}}}
	p, err := quincy.New[string](quincy.Config[string]{
		Arcs: func(arcs []quincy.Arc, _ string, s quincy.State, now int64) []quincy.Arc {
			return costs.Arcs(arcs, input, s, now)
		},
	})
	must(err)
	must(p.AddMachine(quincy.Machine{Node: 0, Rack: 0, Slots: 1}))
	must(p.AddMachine(quincy.Machine{Node: 1, Rack: 0, Slots: 1}))
	must(p.AddJob("sort", 0, 2)) // at most two at once

	for _, task := range []string{"a", "b", "c"} {
		must(p.AddTask(task, "sort", 0))
	}
	show := func(now int64) {
		plan, err := p.Plan(now)
		must(err)
		fmt.Printf("at %d: cost %d\n", now, plan.Cost)
		for _, c := range plan.Changes {
			fmt.Printf("  %v %s, machine %d to %d: %d\n", c.Action, c.Task, c.From, c.To, c.Cost)
		}
		for task, cost := range p.Waiting() {
			fmt.Printf("  %s waits: %d\n", task, cost)
		}
	}
	show(0)
	show(10)
	must(p.RemoveTask("b")) // done
	show(20)
	// Output:
	// at 0: cost 110
	//   place a, machine 0 to 1: 10
	//   place b, machine 0 to 0: 0
	//   c waits: 100
	// at 10: cost 100
	//   c waits: 110
	// at 20: cost -10
	//   place c, machine 0 to 0: 0
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
