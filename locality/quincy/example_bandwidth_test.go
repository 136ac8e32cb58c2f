package quincy_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// Three machines with links of 10, and tasks that ask for 6 and 3 of that. In a
// round each machine gets one task at most; the next round knows what is in use.
// The last big one waits, though slots are free: no link has 6 to spare.
func ExampleNew_bandwidth() {
	costs := bandwidthCosts{Wait: 1, Unscheduled: 100}
	links := []link{{Node: 0, Capacity: 10}, {Node: 1, Capacity: 10}, {Node: 2, Capacity: 10}}
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

// link is the network link of a machine: its capacity, and the sum of its tasks'
// requests. Both are in one unit, such as megabits a second.
type link struct {
	Node           locality.Node
	Capacity, Used int64
}

// bandwidthCosts are the costs of the network-aware policy of the Firmament paper,
// section 3. A task that asks for bandwidth has arcs to machines with so much to
// spare. Each costs the request and the bandwidth in use there, so that links fill
// evenly.
//
// In the paper an aggregator for each size of request stands between tasks and
// machines; here each task has the arcs itself. In both, the arcs use the spare
// bandwidth before the round. To be exact, a round must place one task on a machine
// at most: with [quincy.Planner.SetSlots] give each one slot more than it has tasks. Then
// no link is promised twice. With more slots a round places more tasks, and the
// caller has to check that they fit.
type bandwidthCosts struct {
	// Most is the largest number of machines that a task has arcs to: the least
	// used ones. Less than 1 is all that fit.
	Most int
	// Wait is the cost of a unit of time that a task waits. Unscheduled is added to
	// it, as in [quincy.DataCosts].
	Wait        int32
	Unscheduled int64
}

// Arcs appends the arcs of a task with this request, for [quincy.Config].Arcs. If links
// have changed, call [quincy.Planner.UpdateTask] for a waiting task before a round; a
// running one stays, or is preempted. Costs are limited to [quincy.MaxCost]. Cost:
// O(links), and sorting those that fit.
func (c bandwidthCosts) Arcs(arcs []quincy.Arc, request int64, links []link, s quincy.State, now int64) []quincy.Arc {
	arcs = append(arcs, waitArc(c.Unscheduled, c.Wait, s, now))
	first := len(arcs)
	for _, l := range links {
		switch {
		case s.Running && s.On == l.Node:
			return append(arcs[:first], quincy.Arc{To: quincy.OnMachine(l.Node), Cost: clampCost(l.Used, 0)})
		case l.Capacity-l.Used >= request:
			arcs = append(arcs, quincy.Arc{To: quincy.OnMachine(l.Node), Cost: clampCost(l.Used, request)})
		}
	}
	if s.Running {
		return append(arcs[:first], quincy.Arc{To: quincy.OnMachine(s.On)})
	}
	most := len(links)
	if c.Most > 0 {
		most = c.Most
	}
	slices.SortStableFunc(arcs[first:], func(a, b quincy.Arc) int { return cmp.Compare(a.Cost, b.Cost) })
	return arcs[:min(len(arcs), first+most)]
}
