package pool

import (
	"cmp"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// pack finds room for all needs of w at once, nil if there is none: on machines
// near what it prefers first, else on those that are reserved for it. Called with
// the pool's mutex held.
func (p *Pool) pack(w *waiter) []locality.Node {
	room := make([]resources.Vector, len(p.books.machines))
	for i := range room {
		m := &p.books.machines[i]
		switch {
		case !m.grants() || !p.acceptableNode(w, locality.Node(i)):
		case m.keeper == w:
			room[i] = m.unowed()
		case m.keeper == nil || p.open(i, w.tenant):
			room[i] = m.room
		}
	}
	if w.isPromised() && w.kept.missing == 0 && !slices.ContainsFunc(w.kept.nodes, p.grantsNone) {
		return w.kept.nodes
	}
	if w.kept != nil && !w.kept.owed {
		// First fit can fail where there is room, and does not even get better as
		// more becomes free. A plan that holds in an empty pool does.
		left := slices.Clone(room)
		if place(w.many().needs, left, w.kept.nodes) {
			return w.kept.nodes
		}
	}
	if nodes := p.firstFit(w.many().needs, slices.Clone(room), p.byLevel(w)); nodes != nil || w.near() == nil {
		return nodes
	}
	return p.firstFit(w.many().needs, room, p.byNumber())
}

// grantsNone reports whether a machine takes no new leases.
func (p *Pool) grantsNone(node locality.Node) bool { return !p.books.machines[node].grants() }

// place takes each need from the room of its machine and reports whether all
// fitted.
func place(needs, room []resources.Vector, nodes []locality.Node) bool {
	for i, node := range nodes {
		rest, ok := room[node].Sub(needs[i])
		if !ok {
			return false
		}
		room[node] = rest
	}
	return true
}

// empty returns where w's needs go if all machines are empty and none drains:
// near what it prefers, or else by number. Nil if they do not fit.
func (p *Pool) empty(w *waiter) []locality.Node {
	if nodes := p.packing(w, p.byLevel(w), true, nil); nodes != nil {
		return nodes
	}
	return p.packing(w, p.byNumber(), true, nil)
}

// packing returns a machine for each of w's needs, as if machines were empty but for
// taken, by node. They are tried in an order; draining includes those that drain. It
// returns nil if the needs do not fit.
func (p *Pool) packing(w *waiter, order []locality.Node, draining bool, taken map[uint32]resources.Vector) []locality.Node {
	needs := []resources.Vector{w.need}
	if w.many() != nil {
		needs = w.many().needs
	}
	room := make([]resources.Vector, len(p.books.machines))
	for i := range room {
		if m := &p.books.machines[i]; !m.gone && (draining || !m.draining) && p.acceptableNode(w, locality.Node(i)) {
			room[i], _ = m.capacity.Sub(taken[uint32(i)])
		}
	}
	return p.firstFit(needs, room, order)
}

// firstFit returns for each need the first machine in order with room for it,
// the need with the largest share of the pool first; nil if one finds none. It
// uses up room.
func (p *Pool) firstFit(needs, room []resources.Vector, order []locality.Node) []locality.Node {
	nodes := make([]locality.Node, len(needs))
	for _, i := range p.largestFirst(needs) {
		at := slices.IndexFunc(order, func(n locality.Node) bool { return resources.Fits(&needs[i], &room[n]) })
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
	order := p.byNumber()
	if w.near() != nil {
		slices.SortStableFunc(order, func(a, b locality.Node) int { return cmp.Compare(p.level(w, a), p.level(w, b)) })
	}
	return order
}

// byNumber returns all machines, those that are gone included.
func (p *Pool) byNumber() []locality.Node {
	order := make([]locality.Node, len(p.books.machines))
	for i := range order {
		order[i] = locality.Node(i)
	}
	return order
}

// largestFirst returns the numbers of needs, the one with the largest share of the pool
// first.
func (p *Pool) largestFirst(needs []resources.Vector) []int {
	largest := make([]int, len(needs))
	for i := range largest {
		largest[i] = i
	}
	slices.SortStableFunc(largest, func(a, b int) int {
		x, _, _ := needs[a].DominantShare(p.books.total)
		y, _, _ := needs[b].DominantShare(p.books.total)
		return cmp.Compare(y, x)
	})
	return largest
}
