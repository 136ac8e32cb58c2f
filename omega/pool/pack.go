package pool

import (
	"cmp"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// pack finds room for all needs of w at once, nil if there is none: on machines
// near what it prefers first, else on those that are kept back for it. Called
// with the pool's mutex held.
func (p *Pool) pack(w *waiter) []locality.Node {
	room := make([]resources.Vector, len(p.machines))
	for i := range room {
		room[i] = p.room(locality.Node(i))
	}
	if nodes := p.firstFit(w.needs, slices.Clone(room), p.byLevel(w)); nodes != nil {
		return nodes
	}
	// First fit can fail where there is room, and does not even get better as
	// more becomes free. A plan that holds in an empty pool does.
	if w.awaits == nil {
		w.awaits = p.plan(w)
	}
	for i, node := range w.awaits {
		rest, ok := room[node].Sub(w.needs[i])
		if !ok {
			return nil
		}
		room[node] = rest
	}
	return w.awaits
}

// packing returns where needs go in an empty pool, nil if they do not fit. It
// needs no lock.
func (p *Pool) packing(needs []resources.Vector, order []locality.Node) []locality.Node {
	return p.firstFit(needs, slices.Clone(p.capacity), order)
}

// firstFit returns for each need the first machine in order with room for it,
// the need with the largest share of the pool first; nil if one finds none. It
// uses up room.
func (p *Pool) firstFit(needs, room []resources.Vector, order []locality.Node) []locality.Node {
	largest := make([]int, len(needs))
	for i := range largest {
		largest[i] = i
	}
	slices.SortStableFunc(largest, func(a, b int) int {
		x, _, _ := needs[a].DominantShare(p.total)
		y, _, _ := needs[b].DominantShare(p.total)
		return cmp.Compare(y, x)
	})
	nodes := make([]locality.Node, len(needs))
	for _, i := range largest {
		at := slices.IndexFunc(order, func(n locality.Node) bool { return needs[i].Fits(room[n]) })
		if at < 0 {
			return nil
		}
		nodes[i] = order[at]
		room[nodes[i]], _ = room[nodes[i]].Sub(needs[i])
	}
	return nodes
}

// byLevel returns all machines, those nearest to what w prefers first.
func (p *Pool) byLevel(w *waiter) []locality.Node {
	order := p.nodes()
	slices.SortStableFunc(order, func(a, b locality.Node) int {
		return cmp.Compare(p.topology.Level(a, w.prefer...), p.topology.Level(b, w.prefer...))
	})
	return order
}

// nodes returns the numbers of all machines.
func (p *Pool) nodes() []locality.Node {
	all := make([]locality.Node, len(p.machines))
	for i := range all {
		all[i] = locality.Node(i)
	}
	return all
}
