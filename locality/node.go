package locality

// Node is the number of a machine, or of another place for tasks: see [Config].
//
// Numbers are small and dense, from 0 up: tables and bit vectors are indexed by
// them. The caller gives out the numbers and knows the names of machines.
type Node uint32

// MaxNodes is the largest number of nodes of a topology, or that attributes
// describe: their numbers are below it.
const MaxNodes = 1 << 20

// Level is the distance of a node from the data, in steps of a [Topology]. Level 0
// is the node that holds it. Each further level is a wider group around that node.
type Level uint8

// The levels of the default topology. A topology with levels of its own has
// names of its own for them, see [Topology.LevelName]; 0 is nearest in each.
const (
	// NodeLocal means that the data is on the node itself.
	NodeLocal Level = iota
	// RackLocal means that it is elsewhere in the rack.
	RackLocal
	// ZoneLocal means that it is in another rack of the zone.
	ZoneLocal
	// Anywhere means that it is farther away than that.
	Anywhere
)

// MaxLevels is the largest number of levels of a [Topology].
const MaxLevels = 16
