package quincy

import "github.com/cellsched/cellsched/locality"

// Blocks appends a block for each of the inputs, for [DataCosts.Arcs], with the
// copies that replicas has at this moment. An input without copies is a block that
// no machine holds: it moves over the core switch wherever the task goes.
//
// Later changes of copies do not change the cost of a task's arcs, until the planner asks
// for them again ([Planner.UpdateTask]). The planner and replicas must number the
// machines alike. They may take their racks from the same topology, as
// Rack(topology.Group(n, [locality.RackLocal])). Safe for concurrent use, as replicas
// are; the nodes are theirs and must not be modified. Cost: a look-up for each input, and
// no allocation if blocks has room.
func Blocks[B comparable](blocks []Block, replicas *locality.Replicas[B], inputs ...locality.Input[B]) []Block {
	for _, in := range inputs {
		blocks = append(blocks, Block{Bytes: in.Bytes, Nodes: replicas.Nodes(in.Block)})
	}
	return blocks
}
