package flow

import (
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
)

// RacksOf returns a [Config.Rack] that has the groups of level l of t as racks, by
// [locality.Topology.Group]. A machine is the node of its number; one that is in no
// group, or not known to t, is alone in a rack, which counts towards what a
// [quincy.Planner] holds. A nil t knows none.
//
// A scheduler asks once for each machine, in the first round that finds it in the
// cell: tell t where it is when [omega.Cell.Add] has given it a number, and before
// that round. A machine that moves keeps the rack that it came with until it is
// removed from the cell and added again. A rack goes with its last machine. The
// function is safe for concurrent use, also while t changes, and allocates nothing.
func RacksOf(t *locality.Topology, l locality.Level) func(omega.MachineState) quincy.Rack {
	return func(m omega.MachineState) quincy.Rack { return quincy.Rack(t.Group(m.ID.Node(), l)) }
}
