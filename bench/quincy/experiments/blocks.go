package experiments

import (
	"math/rand/v2"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// disks places the blocks of files as HDFS does for a writer from outside: a copy on a
// random machine, one in another rack, and the third beside the second.
type disks struct {
	rack   []quincy.Rack
	inRack [][]locality.Node
	random *rand.Rand
}

func newDisks(c *cell, random *rand.Rand) *disks {
	d := &disks{rack: c.rack, inRack: make([][]locality.Node, c.racks), random: random}
	for n, rack := range c.rack {
		d.inRack[rack] = append(d.inRack[rack], locality.Node(n))
	}
	return d
}

// copies returns the machines of a new block. Where there is no other rack, or
// no other machine in it, there are fewer copies.
func (d *disks) copies() []locality.Node {
	first := locality.Node(d.random.IntN(len(d.rack)))
	at := []locality.Node{first}
	if len(d.inRack) < 2 {
		return at
	}
	rack := quincy.Rack(d.random.IntN(len(d.inRack) - 1))
	if rack >= d.rack[first] {
		rack++
	}
	there := d.inRack[rack]
	second := d.random.IntN(len(there))
	at = append(at, there[second])
	if len(there) > 1 {
		third := d.random.IntN(len(there) - 1)
		if third >= second {
			third++
		}
		at = append(at, there[third])
	}
	return at
}

// block returns a new block.
func (d *disks) block(bytes int64) quincy.Block {
	nodes := d.copies()
	slices.Sort(nodes)
	return quincy.Block{Bytes: bytes, Nodes: nodes}
}
