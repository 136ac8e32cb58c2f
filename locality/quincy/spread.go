package quincy

import (
	"math"

	"github.com/cellsched/cellsched/locality"
)

// SpreadCosts are costs that grow with the tasks on a machine, so that tasks
// spread out: the load-spreading policy of the Firmament paper, section 3.
//
// There one arc from the cluster to each machine costs what the machine's load
// is, as of the last round. Here only arcs out of tasks cost anything, and the
// model is exact within a round too: each slot of a machine is added as a machine
// of its own, the k-th in rack k, and an arc to rack k costs k steps. The k-th
// slots of all machines are as good as each other and lower ones are cheaper, so
// what a machine's tasks cost together is the sum of the first so many steps,
// however many come at once. What it takes is as many arcs for a task as the
// largest machine has slots; a task that runs has twice as many.
type SpreadCosts struct {
	// Slots is how many slots the largest machine has.
	Slots int
	// Step is what the second task on a machine costs, half of what the third
	// does, and so on; the first is free.
	Step int64
	// Move is what it costs to move a task that runs to another machine.
	Move int64
	// Wait is what a unit of time costs that a task waits, and Unscheduled is
	// added to it, as in [DataCosts].
	Wait        int32
	Unscheduled int64
}

// Machines returns machine n with so many slots, from 1 to those of the largest,
// as [Planner.AddMachine] is to be told of it. The error is [ErrRange] for slots,
// and for a number too large to number its slots.
func (c SpreadCosts) Machines(n locality.Node, slots int) ([]Machine, error) {
	if slots < 1 || slots > c.Slots {
		return nil, refuse(ErrRange, "machine %d: %d slots, want 1 to %d", n, slots, c.Slots)
	}
	if most := int64(math.MaxUint32) / int64(c.Slots); int64(n) >= most {
		return nil, refuse(ErrRange, "machine %d of up to %d slots, want a number below %d", n, c.Slots, most)
	}
	var all []Machine
	for k := range slots {
		all = append(all, Machine{Node: c.slot(n, k), Rack: Rack(k), Slots: 1})
	}
	return all, nil
}

// Machine returns the machine that a slot is of: where a change really leads to
// or comes from. A task that moves from a slot to another of the same machine
// just counts differently and goes on.
func (c SpreadCosts) Machine(slot locality.Node) locality.Node {
	return slot / locality.Node(max(c.Slots, 1))
}

func (c SpreadCosts) slot(n locality.Node, k int) locality.Node {
	return n*locality.Node(c.Slots) + locality.Node(k)
}

// Arcs appends the arcs of any task, to be returned from [Config.Arcs]. Costs
// beyond [MaxCost] stay at that.
func (c SpreadCosts) Arcs(arcs []Arc, s State, now int64) []Arc {
	arcs = append(arcs, waitArc(c.Unscheduled, c.Wait, s, now))
	step := clampCost(c.Step, 0) // times a number of slots is in range
	move := int64(0)
	if s.Running {
		move = c.Move
		for k := range c.Slots {
			slot := c.slot(c.Machine(s.On), k)
			if _, ok := s.Racks.Of(slot); ok {
				arcs = append(arcs, Arc{To: OnMachine(slot), Cost: clampCost(int64(k)*step, 0)})
			}
		}
	}
	for k := range c.Slots {
		if len(s.Racks.Nodes(Rack(k))) > 0 {
			arcs = append(arcs, Arc{To: InRack(Rack(k)), Cost: clampCost(int64(k)*step, move)})
		}
	}
	return arcs
}
