package delay

import "github.com/cellsched/cellsched/locality"

// place is a group of nodes at some level: a node at level 0, all nodes at the
// last. A job that takes nodes up to that level can run its pending tasks for the
// place in it.
type place struct {
	level locality.Level
	group uint32
	all   bool // for tasks without preference, at level 0
}

// noPreference is the place of tasks without preference.
var noPreference = place{all: true}

// places maps nodes to places. It numbers each group when it first meets a node of
// it.
type places struct {
	topology *locality.Topology
	last     locality.Level
	first    [][]locality.Node // at index l the first node that was met of each group of level l
	known    map[locality.Node][]place
}

func newPlaces(topology *locality.Topology) places {
	last := topology.Any()
	return places{
		topology: topology,
		last:     last,
		first:    make([][]locality.Node, last),
		known:    make(map[locality.Node][]place),
	}
}

// of returns the places of a node, by level. The first time, it costs O(groups).
func (p *places) of(n locality.Node) []place {
	if at, ok := p.known[n]; ok {
		return at
	}
	at := make([]place, p.last+1)
	at[0].group = uint32(n)
	for l := locality.Level(1); l < p.last; l++ {
		at[l] = place{level: l, group: p.group(n, l)}
	}
	at[p.last].level = p.last
	p.known[n] = at
	return at
}

// group returns the number of the group of a node at a level.
func (p *places) group(n locality.Node, l locality.Level) uint32 {
	for i, other := range p.first[l] {
		if p.topology.Level(n, other) <= l {
			return uint32(i)
		}
	}
	p.first[l] = append(p.first[l], n)
	return uint32(len(p.first[l]) - 1)
}
