package quincy_test

import (
	"context"
	"fmt"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// Six tasks come at once to machines of 4, 2 and 2 slots, and spread out: each
// second task on a machine costs 10. When those on the first machine end, another
// moves there if it saves more than the move costs.
func ExampleSpreadCosts() {
	for _, move := range []int64{15, 5} {
		costs := quincy.SpreadCosts{Slots: 4, Step: 10, Move: move, Unscheduled: 1000}
		p, err := quincy.New[string](quincy.Config[int]{Arcs: func(arcs []quincy.Arc, _ int, s quincy.State, now int64) []quincy.Arc {
			return costs.Arcs(arcs, s, now)
		}})
		must(err)
		must(p.AddJob("web", 0, 8))
		for n, slots := range []int{4, 2, 2} {
			all, err := costs.Machines(locality.Node(n), slots)
			must(err)
			for _, m := range all {
				must(p.AddMachine(m))
			}
		}
		for task := range 6 {
			must(p.AddTask(task, "web", 0))
		}
		loads := func(when string) {
			plan, err := p.Plan(context.Background(), 0)
			must(err)
			var tasks [3]int
			for task := range 6 {
				if slot, ok := p.Placed(task); ok {
					tasks[costs.Machine(slot)]++
				}
			}
			fmt.Println(when, tasks, "cost", plan.Cost)
		}
		loads("six tasks:")
		for task := range 6 {
			if slot, _ := p.Placed(task); costs.Machine(slot) == 0 {
				must(p.RemoveTask(task)) // it is done
			}
		}
		loads(fmt.Sprintf("machine 0 is idle, moves cost %d:", move))
	}
	// Output:
	// six tasks: [2 2 2] cost 30
	// machine 0 is idle, moves cost 15: [0 2 2] cost 20
	// six tasks: [2 2 2] cost 30
	// machine 0 is idle, moves cost 5: [1 2 1] cost 15
}

// Three machines with links of 10, and tasks that ask for 6 and 3 of that. In a
// round each machine gets one task at most; the next round knows what is in use.
// The last big one waits, though slots are free: no link has 6 to spare.
func ExampleBandwidthCosts() {
	costs := quincy.BandwidthCosts{Wait: 1, Unscheduled: 100}
	links := []quincy.Link{{Node: 0, Capacity: 10}, {Node: 1, Capacity: 10}, {Node: 2, Capacity: 10}}
	requests := []int64{6, 3, 6, 3, 6, 6}
	p, err := quincy.New[string](quincy.Config[int]{Arcs: func(arcs []quincy.Arc, task int, s quincy.State, now int64) []quincy.Arc {
		return costs.Arcs(arcs, requests[task], links, s, now)
	}})
	must(err)
	must(p.AddJob("copy", 0, 9))
	for _, l := range links {
		must(p.AddMachine(quincy.Machine{Node: l.Node, Slots: 1}))
	}
	for task := range requests {
		must(p.AddTask(task, "copy", 0))
	}
	var tasks [3]int // on each machine
	for now := range int64(3) {
		var waiting []int
		for task := range p.Waiting() {
			waiting = append(waiting, task)
		}
		for _, task := range waiting {
			must(p.UpdateTask(task, now))
		}
		for n, k := range tasks {
			must(p.SetSlots(locality.Node(n), k+1))
		}
		plan, err := p.Plan(context.Background(), now)
		must(err)
		for _, c := range plan.Changes {
			links[c.To].Used += requests[c.Task]
			tasks[c.To]++
			fmt.Printf("round %d: %v task %d, which asks for %d, on machine %d: %d of 10 in use\n", now, c.Action, c.Task, requests[c.Task], c.To, links[c.To].Used)
		}
		fmt.Printf("round %d: %d wait\n", now, plan.Waiting)
	}
	// Output:
	// round 0: place task 0, which asks for 6, on machine 2: 6 of 10 in use
	// round 0: place task 1, which asks for 3, on machine 0: 3 of 10 in use
	// round 0: place task 3, which asks for 3, on machine 1: 3 of 10 in use
	// round 0: 3 wait
	// round 1: place task 2, which asks for 6, on machine 0: 9 of 10 in use
	// round 1: place task 5, which asks for 6, on machine 1: 9 of 10 in use
	// round 1: 1 wait
	// round 2: 1 wait
}
