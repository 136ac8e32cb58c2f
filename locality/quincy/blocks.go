package quincy

import "github.com/cellsched/cellsched/locality"

// Blocks appends a block for each of the inputs, as replicas has its copies at
// this moment, to be given to [DataCosts.Arcs]. An input without copies is a block
// that no machine holds: it moves over the core switch wherever the task goes.
//
// Copies that come and go later do not change what a task's arcs cost, until the
// planner asks for them again ([Planner.UpdateTask]). Machines of the planner are
// to have the numbers that replicas has, and may take their racks from the same
// topology, as Rack(topology.Group(n, [locality.RackLocal])). Safe for concurrent
// use, as replicas are; the nodes are theirs and must not be modified. Cost: a
// look-up for each input, and no allocation if blocks has room.
func Blocks[B comparable](blocks []Block, replicas *locality.Replicas[B], inputs ...locality.Input[B]) []Block {
	for _, in := range inputs {
		blocks = append(blocks, Block{Bytes: in.Bytes, Nodes: replicas.Nodes(in.Block)})
	}
	return blocks
}
