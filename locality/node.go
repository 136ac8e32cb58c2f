package locality

// Node is the number of a machine, or of whatever else a task may be put on: see
// [Config].
//
// Numbers are small and dense, from 0 up: tables and bit vectors are indexed
// by them. What a machine is called is known to whoever gave out the numbers.
type Node uint32

// MaxNodes is how many nodes a topology has, or attributes describe: their
// numbers are below it.
const MaxNodes = 1 << 20

// Level is how far a node is from the data, in steps of a [Topology]: 0 is the
// node that holds it, each further level a wider group around that node.
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

// MaxLevels is how many levels a [Topology] may have.
const MaxLevels = 16
