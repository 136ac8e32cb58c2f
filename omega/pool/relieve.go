package pool

import (
	"iter"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// All of this file is called with the pool's mutex held.

// victimsWithin is victims for a request that limits of groups above owed keep out,
// too. Leases in these groups are preempted on any machine, so that the limits are
// kept.
//
// Cost: O(L log L) for each machine that would do, for L leases that are not safe in
// the group, or O(needs) while nothing has changed there since none would do.
func (p *Pool) victimsWithin(w *waiter, owed *Tenant, look *look, over []excess) (best int, of []victim) {
	x := p.index()
	root := over[len(over)-1].of // the groups are on one path: it has the others in it
	top := root
	for top.parent != nil {
		top = top.parent
	}
	r := x.roots[top]
	if look.at != r.changes {
		look.limited, look.at = look.limited[:0], r.changes
	}
	if fitsAnyIn(look.limited, &w.need) {
		return -1, nil
	}
	shares := make(map[*Tenant]float64)
	var within []victim
	for it := range x.itemsBelow(root) {
		if v, some := x.victimOf(it, owed, w, shares); some {
			within = append(within, v)
		}
	}
	all := slices.Clone(over)
	for i := range within {
		within[i].ease(all, -1)
	}
	if !eased(all) {
		if len(look.limited) < failedMost && !w.choosy() {
			look.limited = append(look.limited, w.need)
		}
		return -1, nil
	}
	best, least, possible := -1, cost{}, false
	for node := range x.machines {
		if !x.possible(owed, &w.need, node) {
			continue
		}
		possible = true
		if !p.acceptableNode(w, locality.Node(node)) {
			continue
		}
		chosen, ok := chooseWithin(&w.need, node, x.room(node), over, within, x.merge(node, owed, w, shares))
		if sum := p.costOf(chosen); ok && (best < 0 || sum.less(least)) {
			best, least, of = node, sum, chosen
		}
	}
	if !possible {
		look.fail(&w.need)
	}
	return best, of
}

// fitsAnyIn reports whether some vector is at most a need.
func fitsAnyIn(list []resources.Vector, need *resources.Vector) bool {
	return slices.ContainsFunc(list, func(v resources.Vector) bool { return resources.Fits(&v, need) })
}

// ease takes what a lease holds off the excesses of the groups that it is in, or adds
// it again.
func (v *victim) ease(over []excess, sign int64) {
	for i := range over {
		if v.of.isIn(over[i].of) {
			over[i].by = sumOf(&over[i].by, v.need, sign)
		}
	}
}

// eases reports whether a lease holds some of a kind that is over a limit.
func (v *victim) eases(over []excess) bool {
	return slices.ContainsFunc(over, func(e excess) bool {
		return v.of.isIn(e.of) && helps(v.need, &e.by, &resources.Vector{})
	})
}

// eased reports whether no limit is exceeded.
func eased(over []excess) bool {
	return !slices.ContainsFunc(over, func(e excess) bool { return exceeds(&e.by) })
}

// chooseWithin returns what to preempt so that a need fits on one machine and limits
// are kept: first for the limits, of all leases within, then for the room, of those
// here. It reports false if all of those here would not do; all within would.
func chooseWithin(need *resources.Vector, node int, room resources.Vector, over []excess, within []victim, here *merged) (chosen []victim, ok bool) {
	short := !resources.Fits(need, &room) // then leases here serve both ends
	within, over = slices.Clone(within), slices.Clone(over)
	slices.SortFunc(within, func(a, b victim) int {
		first := a.before(&b)
		if short && (a.node == node) != (b.node == node) {
			first = a.node == node
		}
		if first {
			return -1
		}
		return 1 // no two are alike
	})
	for _, v := range within {
		if eased(over) {
			break
		}
		if v.eases(over) {
			v.ease(over, -1)
			if chosen = append(chosen, v); v.node == node {
				room = sumOf(&room, v.need, 1)
			}
		}
	}
	for !resources.Fits(need, &room) {
		v, some := here.next()
		if !some {
			return nil, false
		}
		if helps(v.need, need, &room) && !slices.ContainsFunc(chosen, v.is) {
			room, chosen = sumOf(&room, v.need, 1), append(chosen, v)
			v.ease(over, -1)
		}
	}
	// One that came later may do without those before it.
	return slices.DeleteFunc(chosen, func(v victim) bool {
		rest := room
		if v.node == node {
			rest = sumOf(&room, v.need, -1)
		}
		v.ease(over, 1)
		if resources.Fits(need, &rest) && eased(over) {
			room = rest
			return true
		}
		v.ease(over, -1)
		return false
	}), true
}

// itemsBelow walks what is held and promised in a group, in the order in which
// guarantees protect it.
func (x *preemptible) itemsBelow(g *Tenant) iter.Seq[*item] {
	top := g
	for top.parent != nil {
		top = top.parent
	}
	r := x.roots[top]
	return func(yield func(*item) bool) {
		for _, list := range [...]*itemList{&r.leases, &r.owed} {
			for it := list.first; it != nil; it = it.next {
				if it.tenant.isIn(g) && !yield(it) {
					return
				}
			}
		}
	}
}
