package flow

import (
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
)

// RacksOf returns a [Config.Rack] that takes the groups of level l of t as racks, by
// [locality.Topology.Group]. A machine is the node of its number. A machine in no group,
// or not known to t, is alone in a rack. Such a rack counts towards the capacity of a
// [quincy.Planner]. A nil t knows no machine.
//
// A scheduler asks once for each machine, in the first round that finds it in the cell.
// So tell t its place after [omega.Cell.Add] has given it a number, and before that
// round. A machine that moves keeps the rack that it came with until it is removed from
// the cell and added again. A rack goes with its last machine. The function is safe for
// concurrent use, also while t changes, and allocates nothing.
func RacksOf(t *locality.Topology, l locality.Level) func(omega.MachineState) quincy.Rack {
	return func(m omega.MachineState) quincy.Rack { return quincy.Rack(t.Group(m.ID.Node(), l)) }
}
