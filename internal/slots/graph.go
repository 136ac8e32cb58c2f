package slots

import "github.com/cellsched/cellsched/internal/mcf"

// Graph returns the problem at the time now as a graph: tasks come first, then
// locations in the order in which they were added.
func (n *Net) Graph(now int64) *mcf.Graph { return n.graph(now, 0) }

// graph returns it with more room than needed in the arcs of trees.
func (n *Net) graph(now, more int64) *mcf.Graph {
	g := &mcf.Graph{}
	var node []int32 // of each location
	for t := range n.tasks {
		if n.tasks[t].n != 0 {
			g.Supply = append(g.Supply, 1)
		}
	}
	left := int64(n.live)
	for v := range n.locs {
		node = append(node, int32(len(g.Supply)))
		g.Supply = append(g.Supply, -int64(n.locs[v].demand))
		left -= int64(n.locs[v].demand)
	}
	g.Supply[node[Sink]] = -left
	from := int32(0)
	for t := range n.tasks {
		if n.tasks[t].n == 0 {
			continue
		}
		for _, o := range n.optionsOf(int32(t)) {
			g.Arcs = append(g.Arcs, mcf.Arc{From: from, To: node[o.at], Cap: 1, Cost: o.cost(now)})
		}
		from++
	}
	below := n.below()
	for v := range n.locs {
		if p := n.locs[v].parent; p != none {
			g.Arcs = append(g.Arcs, mcf.Arc{From: node[p], To: node[v], Cap: below[v] + more})
		}
	}
	for v := range n.locs {
		if l := &n.locs[v]; l.leaf {
			g.Arcs = append(g.Arcs, mcf.Arc{From: node[v], To: node[Sink], Cap: int64(l.capacity)})
		}
	}
	return g
}

// below returns how many units each location can take, with all below it.
func (n *Net) below() []int64 {
	sum := make([]int64, len(n.locs))
	for v := range n.locs {
		l := &n.locs[v]
		for up := Loc(v); up != none; up = n.locs[up].parent {
			sum[up] += int64(l.demand) + int64(l.capacity)
		}
	}
	return sum
}
