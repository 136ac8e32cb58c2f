package experiments

import (
	"fmt"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// cell is machines in racks, and the links between them.
type cell struct {
	topology *locality.Topology
	rack     []quincy.Rack // by machine
	racks    int
	slots    int // of each machine

	// link is the most that one task gets over the network, and core the most that
	// passes between racks for all tasks together, in bytes a second.
	link, core int64
}

// levels of a [cell], as its topology has them.
const (
	onNode = locality.Level(iota)
	inRack
	beyond
)

// newCell returns a cell of machines in the given racks, which are numbered from 0.
func newCell(rack []quincy.Rack, slots int, link, core int64) (*cell, error) {
	c := &cell{rack: rack, slots: slots, link: link, core: core}
	names := make([]string, len(rack))
	for n, r := range rack {
		names[n] = fmt.Sprintf("r%d", r)
		c.racks = max(c.racks, int(r)+1)
	}
	var err error
	c.topology, err = locality.New(locality.Config{Levels: []string{"node", "rack", "any"}, Nodes: names})
	return c, err
}

// even returns a cell of racks of as many machines each.
func even(racks, machines, slots int, link, core int64) (*cell, error) {
	rack := make([]quincy.Rack, racks*machines)
	for n := range rack {
		rack[n] = quincy.Rack(n / machines)
	}
	return newCell(rack, slots, link, core)
}

// far returns how many bytes of an input are not on n: those that are in its rack,
// and those that are not.
func (c *cell) far(in []quincy.Block, n locality.Node) (rack, core int64) {
	for _, b := range in {
		switch c.topology.Level(n, b.Nodes...) {
		case onNode:
		case inRack:
			rack += b.Bytes
		default:
			core += b.Bytes
		}
	}
	return rack, core
}

// level returns the distance of the farthest part of an input.
func (c *cell) level(in []quincy.Block, n locality.Node) locality.Level {
	most := onNode
	for _, b := range in {
		most = max(most, c.topology.Level(n, b.Nodes...))
	}
	return most
}
