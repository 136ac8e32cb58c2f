package quincy_test

import (
	"context"
	"fmt"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// Two machines with one slot each, and three tasks that all have their gigabyte on
// machine 0. One runs there, one reads over the rack's switch, and one waits, which
// costs more with time. Neither is stopped for it, as work would be lost. When one
// is done, the place near the data goes to the task that gains from it.
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
		plan, err := p.Plan(context.Background(), now)
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

// Two machines with a slot each, where a of job sort and d of job index run. Of
// sort one task may run at once, so b waits; c waits since both machines are full.
// A task that would have to give way loses work, which is not worth it yet.
func ExamplePlanner_Explain() {
	costs := quincy.DataCosts{Core: 20, Rack: 10, Wait: 1, Work: 1, Unscheduled: 100}
	inputs := map[string]locality.Node{"a": 0, "b": 1, "c": 0, "d": 1}
	p, err := quincy.New[string](quincy.Config[string]{
		Arcs: func(arcs []quincy.Arc, task string, s quincy.State, now int64) []quincy.Arc {
			input := []quincy.Block{{Bytes: 1 << 30, Nodes: []locality.Node{inputs[task]}}}
			return costs.Arcs(arcs, input, s, now)
		},
	})
	must(err)
	must(p.AddMachine(quincy.Machine{Node: 0, Rack: 0, Slots: 1}))
	must(p.AddMachine(quincy.Machine{Node: 1, Rack: 0, Slots: 1}))
	must(p.AddJob("sort", 0, 1))
	must(p.AddJob("index", 0, 2))
	must(p.AddTask("a", "sort", 0))
	must(p.AddTask("d", "index", 0))
	_, err = p.Plan(context.Background(), 0)
	must(err)
	for i, task := range []string{"b", "c"} {
		now := int64(5 * (i + 1))
		must(p.AddTask(task, []string{"sort", "index"}[i], now))
		_, err = p.Plan(context.Background(), now)
		must(err)
		why, err := p.Explain(task)
		must(err)
		fmt.Print(why)
	}
	// Output:
	// task b of job sort waits; 1 of the job run, want 0 to 1: its share is used up
	//   unscheduled: cost 100, 1 of 2 wait; it is here
	//   rack 0: cost 10, 2 of 2 slots in use; +15 in all, on machine 0: a of sort from machine 0 to unscheduled +105
	//   cluster: cost 10, 2 of 2 slots in use; +15 in all, on machine 0: a of sort from machine 0 to unscheduled +105
	//   machine 1: cost 0, 1 of 1 slots in use by d; +20 in all: d of index from machine 1 to machine 0 +15, a of sort from machine 0 to unscheduled +105
	// task c of job index waits; 1 of the job run, want 0 to 2
	//   unscheduled: cost 100, 1 of 2 wait; it is here
	//   machine 0: cost 0, 1 of 1 slots in use by a; +10 in all: a of sort from machine 0 to unscheduled +110
	//   rack 0: cost 10, 2 of 2 slots in use; +20 in all, on machine 0: a of sort from machine 0 to unscheduled +110
	//   cluster: cost 10, 2 of 2 slots in use; +20 in all, on machine 0: a of sort from machine 0 to unscheduled +110
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
