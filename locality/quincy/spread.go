package quincy

import (
	"math"

	"github.com/cellsched/cellsched/locality"
)

// SpreadCosts are costs that grow with the tasks on a machine, so that tasks spread
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
type SpreadCosts struct {
	// Slots is the number of slots of the largest machine.
	Slots int
	// Step is the cost of the second task on a machine, half the cost of the third,
	// and so on; the first is free.
	Step int64
	// Move is the cost to move a running task to another machine.
	Move int64
	// Wait is the cost of a unit of time that a task waits. Unscheduled is added to
	// it, as in [DataCosts].
	Wait        int32
	Unscheduled int64
}

// Machines returns the slots of machine n, from 1 to those of the largest, as
// machines for [Planner.AddMachine]. The error is [ErrRange] for slots, and for a
// number too large to number its slots.
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

// Machine returns the machine of a slot: the real end of a change. A task that
// moves from a slot to another of the same machine just counts differently and goes
// on.
func (c SpreadCosts) Machine(slot locality.Node) locality.Node {
	return slot / locality.Node(max(c.Slots, 1))
}

func (c SpreadCosts) slot(n locality.Node, k int) locality.Node {
	return n*locality.Node(c.Slots) + locality.Node(k)
}

// Arcs appends the arcs of any task, for [Config.Arcs]. Costs are limited to
// [MaxCost].
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
