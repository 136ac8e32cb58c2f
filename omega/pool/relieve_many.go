package pool

import (
	"cmp"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// All of this file is called with the pool's mutex held.

// victimsOfMany returns the machines on which preemption makes room for all needs of w
// together, by need, and what is preempted there and for limits; nil if it finds none.
// The needs are placed one by one, the largest first: each where the least has to be
// preempted, or, if that does not do for all, on the first machine that would do.
//
// Cost: O(needs * machines), and [Pool.choose] on those where there is room for a need.
func (p *Pool) victimsOfMany(w *waiter, owed *Tenant, over []excess) (nodes []locality.Node, of []victim) {
	g := w.many()
	if x := p.index(); g.hopeless == owed && g.looked == x.changes {
		return nil, nil
	}
	for _, first := range []bool{false, true} {
		if nodes, of = p.relieve(w, owed, over, first); nodes != nil {
			return nodes, of
		}
	}
	g.hopeless, g.looked = owed, p.index().changes
	return nil, nil
}

// relieved is a plan for several needs.
type relieved struct {
	p      *Pool
	x      *preemptible
	w      *waiter
	owed   *Tenant
	chosen []victim
	rest   []resources.Vector // by node: room beside the needs that are placed there
	taken  []resources.Vector // by node: these needs
	shares map[*Tenant]float64
}

// relieve makes a plan, with the first machine that would do for each need, or else
// the best.
func (p *Pool) relieve(w *waiter, owed *Tenant, over []excess, first bool) (nodes []locality.Node, of []victim) {
	x := p.index()
	r := &relieved{
		p: p, x: x, w: w, owed: owed, shares: make(map[*Tenant]float64),
		rest: make([]resources.Vector, len(x.machines)), taken: make([]resources.Vector, len(x.machines)),
	}
	for node := range r.rest {
		r.rest[node] = x.room(node)
	}
	over = slices.Clone(over)
	if !r.ease(over) {
		return nil, nil
	}
	nodes = make([]locality.Node, len(w.many().needs))
	for _, i := range p.largestFirst(w.many().needs) {
		node := r.place(&w.many().needs[i], first)
		if node < 0 {
			return nil, nil
		}
		nodes[i] = locality.Node(node)
	}
	// One that came later may do without those before it.
	r.chosen = slices.DeleteFunc(r.chosen, func(v victim) bool {
		v.ease(over, 1)
		rest := sumOf(&r.rest[v.node], v.need, -1)
		if eased(over) && (!r.used(v.node) || resources.Fits(&resources.Vector{}, &rest)) {
			r.rest[v.node] = rest
			return true
		}
		v.ease(over, -1)
		return false
	})
	return nodes, r.chosen
}

// used reports whether a need is placed on a machine.
func (r *relieved) used(node int) bool { return r.taken[node] != resources.Vector{} }

// ease preempts leases of groups for limits that the request would exceed.
func (r *relieved) ease(over []excess) bool {
	if eased(over) {
		return true
	}
	var within []victim
	for it := range r.x.itemsBelow(over[len(over)-1].of) { // it has the others in it
		if v, some := r.x.victimOf(it, r.owed, r.w, r.shares); some {
			within = append(within, v)
		}
	}
	slices.SortFunc(within, func(a, b victim) int {
		if a.before(&b) {
			return -1
		}
		return 1 // no two are alike
	})
	for _, v := range within {
		if v.eases(over) {
			v.ease(over, -1)
			r.take(v)
		}
		if eased(over) {
			return true
		}
	}
	return false
}

func (r *relieved) take(v victim) {
	r.chosen = append(r.chosen, v)
	r.rest[v.node] = sumOf(&r.rest[v.node], v.need, 1)
}

// place returns the machine for one need, or -1, and takes what has to be preempted
// there.
func (r *relieved) place(need *resources.Vector, first bool) int {
	best, least := -1, cost{}
	var of []victim
	for node := range r.x.machines {
		if !r.x.possibleBeside(r.owed, need, &r.taken[node], node) || !r.p.acceptableNode(r.w, locality.Node(node)) {
			continue
		}
		chosen, sum, ok := r.p.choose(need, r.rest[node], r.x.merge(node, r.owed, r.w, r.shares), r.has)
		if ok && (best < 0 || sum.less(least)) {
			best, least, of = node, sum, chosen
		}
		if best >= 0 && (first || least.share == 0) {
			break
		}
	}
	if best < 0 {
		return -1
	}
	for _, v := range of {
		r.take(v)
	}
	r.rest[best] = sumOf(&r.rest[best], need, -1)
	r.taken[best] = r.taken[best].Add(*need)
	return best
}

// has reports whether a victim is chosen already.
func (r *relieved) has(v victim) bool {
	return slices.ContainsFunc(r.chosen, v.is)
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
