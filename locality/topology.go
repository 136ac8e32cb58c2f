package locality

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Topology returns how far nodes are from each other.
//
// The zero Topology, and a nil one, has two levels: the node itself, and any other.
// All methods are safe for concurrent use. Reading methods never block and do not
// allocate; writing methods wait for each other.
type Topology struct {
	// cur is replaced, never written through: a Load sees a whole table or,
	// in the zero Topology, none.
	cur atomic.Pointer[table]

	mu     sync.Mutex
	groups map[string]*group
	nodes  map[Node]*group // the smallest group around each, nil for none
	taken  map[uint32]bool // numbers of groups
	last   uint32          // the number that was given last
}

// table is one version of a topology.
type table struct {
	names []string

	// pages hold len(names)-2 numbers per node, one for each level between the
	// first and the last; noGroup where the node is in none. Versions share the
	// pages in which they do not differ. A page may be nil.
	pages [][]uint32
}

// rowsPerPage is the number of nodes with rows in one page. A change copies one
// page and the list of pages, which is about as long for 50,000 nodes.
const rowsPerPage = 256

// noGroup stands for no group at a level. Two nodes without a group do not share
// one.
const noGroup uint32 = 0

// maxGroup is the largest number of a group. Above it [Topology.Group] has room
// for nodes that are in none.
const maxGroup = 1 << 31

// New returns the topology that cfg describes. It keeps nothing of cfg. Cost:
// O(nodes × levels + groups × log groups).
//
// A group is one level above the nodes or groups that name it, and a group that
// nothing names is at level 1. The error names the group or level in each of these
// cases:
//
//   - a group is at two different levels, or at the last one;
//   - groups lie around each other in a circle;
//   - names of levels are empty, repeated, too few or too many.
func New(cfg Config) (*Topology, error) {
	names := slices.Clone(cfg.Levels)
	if names == nil {
		names = []string{"node", "rack", "zone", "any"}
	}
	if err := checkNames(names); err != nil {
		return nil, err
	}
	levels, err := cfg.groupLevels(names)
	if err != nil {
		return nil, err
	}

	if len(cfg.Nodes) > MaxNodes {
		return nil, fmt.Errorf("locality: topology: %d nodes, want at most %d", len(cfg.Nodes), MaxNodes)
	}
	t := &Topology{
		groups: make(map[string]*group, len(levels)), nodes: make(map[Node]*group, len(cfg.Nodes)),
		taken: make(map[uint32]bool, len(levels)),
	}
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		t.enter(&group{name: name, level: levels[name], members: 1}) // stays for good
	}
	for name, g := range t.groups {
		g.parent = t.groups[cfg.Parents[name]]
	}
	tab := &table{names: names}
	for n, name := range cfg.Nodes {
		g := t.groups[name]
		t.nodes[Node(n)] = g
		if g != nil {
			g.members++
			g.fill(tab.make(Node(n)))
		}
	}
	t.cur.Store(tab)
	return t, nil
}

// Level returns how far n is from the nearest of the preferred nodes: the lowest
// level at which it shares a group with one of them.
//
// With no preferred nodes it is 0: a task without preference is local everywhere. A
// node is at level 0 from itself even if the topology does not know its number.
// From every other node an unknown one is at the last level. Cost: O(preferred ×
// levels), a few nanoseconds for a handful of replicas. The slice is only read.
func (t *Topology) Level(n Node, preferred ...Node) Level {
	if len(preferred) == 0 || slices.Contains(preferred, n) {
		return 0
	}
	tab := t.load()
	if tab == nil {
		return 1
	}
	near := len(tab.names) - 1
	row := tab.row(n)
	for _, p := range preferred {
		// Only a nearer group can still change the result.
		for l, group := range tab.row(p) {
			if l+1 >= near || l >= len(row) {
				break
			}
			if group == row[l] && group != noGroup {
				near = l + 1
				break
			}
		}
	}
	return Level(near)
}

// Group returns a number for the group of level l that n is in. Two nodes have the
// same number if and only if they are within that level of each other. With level 0
// each node has its own number. With the last level, and beyond, it is 0 for all.
//
//   - Groups of the [Config] are numbered from 0 in the order of their names, of
//     all levels together. Groups that [Topology.Add] makes follow as they come.
//   - A number stays with its group, and is not used again before all others below
//     2^31 have been.
//   - A node without a group of that level has the number of the widest one below.
//   - A node without any group, or an unknown one, has a number of its own, from
//     2^32 - [MaxNodes] up. Nodes that are not below MaxNodes, which are never
//     known, may share theirs with others.
//
// Each call sees the topology as it is then. Cost: as [Topology.Level] of one
// preferred node.
func (t *Topology) Group(n Node, l Level) uint32 {
	var row []uint32
	last := Level(1)
	if tab := t.load(); tab != nil {
		row, last = tab.row(n), Level(len(tab.names)-1)
	}
	if l >= last {
		return 0
	}
	for i := min(int(l), len(row)); i > 0; i-- {
		if row[i-1] != noGroup {
			return row[i-1] - 1
		}
	}
	return ^uint32(n)
}

// Any returns the last level, the one at which every node is near enough.
func (t *Topology) Any() Level {
	if tab := t.load(); tab != nil {
		return Level(len(tab.names) - 1)
	}
	return 1
}

// LevelName returns the name of l. A level beyond the last has the last level's
// name.
func (t *Topology) LevelName(l Level) string {
	if tab := t.load(); tab != nil {
		return tab.names[min(int(l), len(tab.names)-1)]
	}
	if l == 0 {
		return "node"
	}
	return "any"
}

// load returns the current table, nil for a zero or nil Topology.
func (t *Topology) load() *table {
	if t == nil {
		return nil
	}
	return t.cur.Load()
}

// row returns the groups around n, nearest first; none if n is unknown.
func (tab *table) row(n Node) []uint32 {
	p := int(n / rowsPerPage)
	if p >= len(tab.pages) || tab.pages[p] == nil {
		return nil
	}
	inner := len(tab.names) - 2
	from := int(n%rowsPerPage) * inner
	return tab.pages[p][from : from+inner]
}

// make returns the row of n to be written, in a table without readers yet.
func (tab *table) make(n Node) []uint32 {
	p := int(n / rowsPerPage)
	for len(tab.pages) <= p {
		tab.pages = append(tab.pages, nil)
	}
	if tab.pages[p] == nil {
		tab.pages[p] = make([]uint32, rowsPerPage*(len(tab.names)-2))
	}
	return tab.row(n)
}
