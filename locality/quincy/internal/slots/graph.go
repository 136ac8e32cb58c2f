package slots

import "github.com/cellsched/cellsched/locality/quincy/internal/mcf"

// Graph returns the problem as a graph, in which arcs out of tasks come first,
// and what each node is: a location, or a task t as ^t.
func (n *Net) Graph() (*mcf.Graph, []int32) {
	g := &mcf.Graph{}
	var node []int32 // of each location
	var names []int32
	add := func(name int32, supply int64) int32 {
		g.Supply = append(g.Supply, supply)
		names = append(names, name)
		return int32(len(names) - 1)
	}
	for t := range n.tasks {
		if n.tasks[t].n != 0 {
			add(^int32(t), 1)
		}
	}
	left := int64(n.live)
	for v := range n.locs {
		node = append(node, add(Loc(v), -int64(n.locs[v].demand)))
		left -= int64(n.locs[v].demand)
	}
	g.Supply[node[Sink]] = -left
	from := int32(0)
	for t := range n.tasks {
		if n.tasks[t].n == 0 {
			continue
		}
		for _, o := range n.optionsOf(int32(t)) {
			g.Arcs = append(g.Arcs, mcf.Arc{From: from, To: node[o.at], Cap: 1, Cost: o.cost(n.now)})
		}
		from++
	}
	below := n.below()
	for v := range n.locs {
		if p := n.locs[v].parent; p != none {
			g.Arcs = append(g.Arcs, mcf.Arc{From: node[p], To: node[v], Cap: below[v]})
		}
	}
	for v := range n.locs {
		if l := &n.locs[v]; l.leaf {
			g.Arcs = append(g.Arcs, mcf.Arc{From: node[v], To: node[Sink], Cap: int64(l.capacity)})
		}
	}
	return g, names
}

// below returns how many units each location can take, with all below it.
func (n *Net) below() []int64 {
	sum := make([]int64, len(n.locs))
	for v := len(n.locs) - 1; v > 0; v-- { // kids have higher numbers
		l := &n.locs[v]
		sum[v] += int64(l.demand) + int64(l.capacity)
		if l.parent != none {
			sum[l.parent] += sum[v]
		}
	}
	return sum
}
