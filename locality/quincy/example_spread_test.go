package quincy_test

import (
	"context"
	"fmt"
	"math"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// Six tasks come at once to machines of 4, 2 and 2 slots, and spread out: each
// second task on a machine costs 10. When those on the first machine end, another
// moves there if it saves more than the move costs.
func ExampleNew_loadSpreading() {
	for _, move := range []int64{15, 5} {
		costs := spreadCosts{Slots: 4, Step: 10, Move: move, Unscheduled: 1000}
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

// spreadCosts are costs that grow with the tasks on a machine, so that tasks spread
// out: the load-spreading policy of the Firmament paper, section 3.
//
// In the paper one arc from the cluster to each machine costs the machine's load as
// of the last round. Here only arcs out of tasks have a cost, and the model is
// exact within a round too:
//
//   - Each slot of a machine is added as a machine of its own, the k-th in rack k.
//     An arc to rack k costs k steps.
//   - The k-th slots of all machines are equal, and lower ones are cheaper. So a
//     machine's tasks together cost the sum of the first steps, however many come
//     at once.
//
// A task has as many arcs as the largest machine has slots; a running task has
// twice as many.
type spreadCosts struct {
	// Slots is the number of slots of the largest machine.
	Slots int
	// Step is the cost of the second task on a machine, half the cost of the third,
	// and so on; the first is free.
	Step int64
	// Move is the cost to move a running task to another machine.
	Move int64
	// Wait is the cost of a unit of time that a task waits. Unscheduled is added to
	// it, as in [quincy.DataCosts].
	Wait        int32
	Unscheduled int64
}

// Machines returns the slots of machine n, from 1 to those of the largest, as
// machines for [quincy.Planner.AddMachine]. The error is [quincy.ErrRange] for slots, and for a
// number too large to number its slots.
func (c spreadCosts) Machines(n locality.Node, slots int) ([]quincy.Machine, error) {
	if slots < 1 || slots > c.Slots {
		return nil, fmt.Errorf("machine %d: %d slots, want 1 to %d: %w", n, slots, c.Slots, quincy.ErrRange)
	}
	if most := int64(math.MaxUint32) / int64(c.Slots); int64(n) >= most {
		return nil, fmt.Errorf("machine %d of up to %d slots, want a number below %d: %w", n, c.Slots, most, quincy.ErrRange)
	}
	var all []quincy.Machine
	for k := range slots {
		all = append(all, quincy.Machine{Node: c.slot(n, k), Rack: quincy.Rack(k), Slots: 1})
	}
	return all, nil
}

// Machine returns the machine of a slot: the real end of a change. A task that
// moves from a slot to another of the same machine just counts differently and goes
// on.
func (c spreadCosts) Machine(slot locality.Node) locality.Node {
	return slot / locality.Node(max(c.Slots, 1))
}

func (c spreadCosts) slot(n locality.Node, k int) locality.Node {
	return n*locality.Node(c.Slots) + locality.Node(k)
}

// Arcs appends the arcs of any task, for [quincy.Config].Arcs. Costs are limited to
// [quincy.MaxCost].
func (c spreadCosts) Arcs(arcs []quincy.Arc, s quincy.State, now int64) []quincy.Arc {
	arcs = append(arcs, waitArc(c.Unscheduled, c.Wait, s, now))
	step := clampCost(c.Step, 0) // times a number of slots is in range
	move := int64(0)
	if s.Running {
		move = c.Move
		for k := range c.Slots {
			slot := c.slot(c.Machine(s.On), k)
			if _, ok := s.Racks.Of(slot); ok {
				arcs = append(arcs, quincy.Arc{To: quincy.OnMachine(slot), Cost: clampCost(int64(k)*step, 0)})
			}
		}
	}
	for k := range c.Slots {
		if len(s.Racks.Nodes(quincy.Rack(k))) > 0 {
			arcs = append(arcs, quincy.Arc{To: quincy.InRack(quincy.Rack(k)), Cost: clampCost(int64(k)*step, move)})
		}
	}
	return arcs
}

// waitArc returns the arc to wait, which grows by wait for each unit of time that the
// task has waited.
func waitArc(unscheduled int64, wait int32, s quincy.State, now int64) quincy.Arc {
	if s.Running {
		return quincy.Arc{To: quincy.Unscheduled(), Cost: clampCost(unscheduled, int64(wait)*s.Waited)}
	}
	return quincy.Arc{To: quincy.Unscheduled(), Cost: clampCost(unscheduled, int64(wait)*(s.Waited+now-s.Since)), Rate: wait}
}

// clampCost returns a + b within what a planner takes.
func clampCost(a, b int64) int64 {
	const far = 1 << 61 // sums do not overflow
	return min(max(min(max(a, -far), far)+min(max(b, -far), far), -quincy.MaxCost), quincy.MaxCost)
}
