package locality

import (
	"fmt"
	"slices"
)

// Spread limits the tasks of one job in a failure domain: on a node, in a rack, in
// a zone. So the job outlives failures of single machines and of whole racks.
//
// A limit of 1 on a level is anti-affinity of the job's tasks to each other. For
// (anti-)affinity between jobs use the other's [Spread.Count].
//
// The zero Spread counts nodes and limits nothing. A Spread is for one goroutine at
// a time. The topology may change meanwhile: tasks are counted where their nodes
// are now.
type Spread struct {
	topology *Topology
	most     []int
	tasks    map[Node]int
	total    int

	// inside is, for each level between the first and the last, the tasks by
	// group, in the topology as of tab.
	inside []map[uint32]int
	tab    *table
}

// NewSpread returns the spread of a job without tasks. Element l of most is the
// limit of tasks in one group of level l of the topology, 0 for any number. It may
// be shorter than the number of levels. A node without a group of some level is not
// limited there: its neighbours are unknown.
//
// Errors: a negative limit, more limits than levels.
func NewSpread(t *Topology, most ...int) (*Spread, error) {
	if levels := int(t.Any()) + 1; len(most) > levels {
		return nil, fmt.Errorf("locality: spread: %d limits %v, want at most %d, one a level", len(most), most, levels)
	}
	for l, k := range most {
		if k < 0 {
			return nil, fmt.Errorf("locality: spread: at most %d tasks a %s, want 0 or more", k, t.LevelName(Level(l)))
		}
	}
	return &Spread{topology: t, most: slices.Clone(most)}, nil
}

// Allows reports whether one task more on n is within all limits. It suits
// omega.Query as Allow, for one task at a time. A search that puts several tasks at
// once on a machine does not call it in between.
//
// Cost: a look-up for each level that has a limit; O(nodes with tasks) once after
// the topology has changed.
func (s *Spread) Allows(n Node) bool {
	if s == nil {
		return true
	}
	for l, most := range s.most {
		if most > 0 && s.Count(n, Level(l)) >= most {
			return false
		}
	}
	return true
}

// Count returns the number of tasks in the group of level l that n is in. Level 0
// counts n itself, the last level all tasks. It is 0 if n is in no group.
func (s *Spread) Count(n Node, l Level) int {
	if s == nil {
		return 0
	}
	s.follow()
	switch {
	case l == 0:
		return s.tasks[n]
	case l >= s.topology.Any():
		return s.total
	}
	if row := s.tab.row(n); int(l) <= len(row) && row[l-1] != noGroup {
		return s.inside[l-1][row[l-1]]
	}
	return 0
}

// Add counts one task more on n, whether or not [Spread.Allows] it.
func (s *Spread) Add(n Node) {
	if s == nil {
		return
	}
	s.add(n, 1)
}

// Remove counts one task less on n. It is an error if there is none.
func (s *Spread) Remove(n Node) error {
	if s == nil {
		return absent("spread")
	}
	if s.tasks[n] == 0 {
		return fmt.Errorf("locality: spread: remove a task from node %d, which has none", n)
	}
	s.add(n, -1)
	return nil
}

func (s *Spread) add(n Node, k int) {
	s.follow()
	if s.tasks == nil {
		s.tasks = make(map[Node]int)
	}
	s.total += k
	if s.tasks[n] += k; s.tasks[n] == 0 {
		delete(s.tasks, n)
	}
	s.count(n, k)
}

// count adds k to the groups around n, and to noGroup, which is never read.
func (s *Spread) count(n Node, k int) {
	if s.tab == nil {
		return
	}
	for i, group := range s.tab.row(n) {
		if s.inside[i][group] += k; s.inside[i][group] == 0 {
			delete(s.inside[i], group)
		}
	}
}

// follow counts again if the topology has changed.
func (s *Spread) follow() {
	tab := s.topology.load()
	if tab == s.tab {
		return
	}
	s.tab, s.inside = tab, nil
	if tab == nil {
		return
	}
	s.inside = make([]map[uint32]int, len(tab.names)-2)
	for i := range s.inside {
		s.inside[i] = make(map[uint32]int)
	}
	for n, k := range s.tasks {
		s.count(n, k)
	}
}
