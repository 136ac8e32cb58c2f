package locality

import (
	"fmt"
	"slices"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// group is a rack, a zone or the like. All under mu of the topology.
type group struct {
	name    string
	number  uint32 // in the tables; unique while the group is there
	level   int
	parent  *group // one level up, or nil
	members int    // nodes and groups right below, and one if it is of the Config
}

// fill writes the numbers of g and the groups around it.
func (g *group) fill(row []uint32) {
	for ; g != nil; g = g.parent {
		row[g.level-1] = g.number
	}
}

// Add puts node n into the first group, which is in the second, and so on outwards;
// into none if there are none. A node that is known already moves.
//
// Unknown groups are made, and removed with the last node in them; groups of the
// [Config] stay. The groups around a known group may be left out, and otherwise
// have to be the same. Levels stay.
//
// Readers see the node at its old or its new place, and nothing between. Cost: a
// copy of 1 KiB a level of groups, and of 24 bytes for each 256 nodes. Errors:
//
//   - [ErrNode] for a number that is not below [MaxNodes];
//   - [ErrName] for a group;
//   - groups at another level or in another group than they are, in a circle, or
//     reaching the last level.
func (t *Topology) Add(n Node, groups ...string) error {
	if t == nil {
		return refuse(resources.ErrNil, "topology: add node %d to a nil topology", n)
	}
	if n >= MaxNodes {
		return refuse(ErrNode, "topology: add node %d: want less than %d", n, MaxNodes)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.checkPath(groups); err != nil {
		return refuse(err, "topology: add node %d", n)
	}

	var inner *group // from the outside in
	for l := len(groups); l > 0; l-- {
		g, ok := t.groups[groups[l-1]]
		if !ok {
			g = &group{name: groups[l-1], level: l, parent: inner}
			if inner != nil {
				inner.members++
			}
			t.enter(g)
		}
		inner = g
	}
	if inner != nil {
		inner.members++
	}
	was := t.nodes[n]
	if t.nodes == nil {
		t.nodes = make(map[Node]*group)
	}
	t.nodes[n] = inner
	t.leave(was) // last, so that a group it moves within is not made anew
	t.move(n, inner)
	return nil
}

// Remove takes node n out of the topology: from then on it is as far from every
// other node as can be. Errors: [ErrNode] if it is not known. Cost: as
// [Topology.Add].
func (t *Topology) Remove(n Node) error {
	if t == nil {
		return refuse(ErrNode, "topology: remove node %d, which is not known", n)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	was, ok := t.nodes[n]
	if !ok {
		return refuse(ErrNode, "topology: remove node %d, which is not known", n)
	}
	delete(t.nodes, n)
	t.leave(was)
	t.move(n, nil)
	return nil
}

// checkPath returns an error unless a node can be in these groups.
func (t *Topology) checkPath(groups []string) error {
	names := []string{"node", "any"}
	if tab := t.load(); tab != nil {
		names = tab.names
	}
	if len(groups) > len(names)-2 {
		return fmt.Errorf("%d groups %s, want at most %d, below the last level %q", len(groups), fault.List(fmt.Sprintf("%q", groups)), len(names)-2, names[len(names)-1])
	}
	for i, name := range groups { // first, since the errors below print all of them
		if err := checkName(names[i+1], name); err != nil {
			return err
		}
	}
	for i, name := range groups {
		if first := slices.Index(groups, name); first < i {
			return fmt.Errorf("groups %q: %q is around itself: cycle", groups, name)
		}
		g, ok := t.groups[name]
		if !ok {
			continue
		}
		if g.level != i+1 {
			return fmt.Errorf("group %q is at level %d %q, not %d %q", name, g.level, names[g.level], i+1, names[i+1])
		}
		if i+1 == len(groups) {
			continue
		}
		around := ""
		if g.parent != nil {
			around = g.parent.name
		}
		if around != groups[i+1] {
			return fmt.Errorf("group %q is in %q, not in %q", name, around, groups[i+1])
		}
	}
	return nil
}

// leave takes one member from g, and g from the topology if that was the last.
func (t *Topology) leave(g *group) {
	for g != nil {
		if g.members--; g.members > 0 {
			return
		}
		delete(t.groups, g.name)
		delete(t.taken, g.number)
		g = g.parent
	}
}

// enter makes g known, by its name and by the next free number, around from
// maxGroup to 1. So a caller that keeps numbers while groups come and go does not
// soon confuse two groups. The loop ends, as there are fewer groups than numbers.
func (t *Topology) enter(g *group) {
	t.last = t.last%maxGroup + 1
	for t.taken[t.last] {
		t.last = t.last%maxGroup + 1
	}
	g.number = t.last
	t.groups[g.name], t.taken[g.number] = g, true
}

// move publishes a table in which n is in g.
func (t *Topology) move(n Node, g *group) {
	old := t.load()
	if old == nil || len(old.names) == 2 {
		return // there are no groups
	}
	tab := &table{names: old.names, pages: slices.Clone(old.pages)}
	if p := int(n / rowsPerPage); p < len(tab.pages) {
		tab.pages[p] = slices.Clone(tab.pages[p])
	}
	row := tab.make(n)
	clear(row)
	g.fill(row)
	t.cur.Store(tab)
}
