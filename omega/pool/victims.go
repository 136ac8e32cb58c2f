package pool

import (
	"math"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// victim is a lease that may be preempted, or room that is owed to a request.
type victim struct {
	slot  uint32  // of the lease
	owed  *waiter // that the room is owed to, nil of a lease
	of    *Tenant
	node  int
	need  *resources.Vector
	class int64   // where the paths part, less that of the guarantee: 0 or below
	share float64 // of its tenant, by weight
	order uint64  // in which it was granted or owed
}

// victims returns the machine with the least cost of preemption for w, whose need the
// guarantee of owed covers, and the leases; -1 if no machine will do. Room that is owed
// to a request of others, and not safe, is taken first.
//
// A lease is safe if it is within the guarantee of its own tenant or group, the
// oldest leases first, or of a higher class. Bound: on one machine, where all
// classes are the same, there is room for the need. (1) What is held or owed
// within owed, and the need, are at most its guarantee; (2) the safe leases of
// others are at most theirs; (3) guarantees add up to no more than the machine
// has. Cost: O(machines), and [Pool.choose] on those where there is room for the need.
func (p *Pool) victims(w *waiter, owed *Tenant) (best int, of []victim) {
	x := p.index()
	best, least := -1, cost{}
	shares := make(map[*Tenant]float64)
	for node := range x.machines {
		room := x.room(node)
		if best >= 0 && p.books.machines[node].owing == 0 {
			share, class := p.shareShort(&w.need, &room), int64(0)
			if p.ranked && share > 0 {
				class = x.lowest(owed, node)
			}
			if at := (cost{class, share}); share > 0 && !at.less(least) {
				continue
			}
		}
		if !x.possible(owed, &w.need, node) || !p.acceptableNode(w, locality.Node(node)) {
			continue
		}
		chosen, sum, ok := p.choose(&w.need, room, x.merge(node, owed, w, shares), nil)
		if ok && (best < 0 || sum.less(least)) {
			best, least, of = node, sum, chosen
		}
		if ok && sum.share == 0 {
			break // no machine has less to preempt
		}
	}
	return best, of
}

// shareShort returns the dominant share of what a need has not in some room: no fewer
// shares are preempted for it, but for what is promised.
func (p *Pool) shareShort(need, room *resources.Vector) float64 {
	short := sumOf(need, room, -1)
	for k := range short {
		short[k] = max(0, short[k])
	}
	share, _, _ := short.DominantShare(p.books.total)
	return share
}

// cost is the loss by some victims, of which the least is preempted.
type cost struct {
	class int64   // the highest of a lease, none is below all
	share float64 // the sum of the leases
}

func (c cost) less(o cost) bool {
	if c.class != o.class {
		return c.class < o.class
	}
	return less(c.share, o.share)
}

// less reports whether a share is less than another, beyond rounding.
func less(a, b float64) bool { return a < b*(1-1e-9) }

// victimOf returns an item as a victim of w, a request within the guarantee of owed. It
// reports false for one that is safe, or that the caller of w holds: its context, with
// which w waits, would end. It notes the share of its tenant.
func (x *preemptible) victimOf(it *item, owed *Tenant, w *waiter, shares map[*Tenant]float64) (v victim, some bool) {
	if it.tenant.isIn(owed) || it.owed == nil && w.holds(it.slot) {
		return v, false
	}
	top, side := it.tenant.beside(owed), owed
	for side.parent != top.parent {
		side = side.parent
	}
	if it.safe >= top.depth() || top.set.Priority > side.set.Priority {
		return v, false
	}
	v = victim{slot: it.slot, owed: it.owed, of: it.tenant, node: it.node, need: &it.need, order: it.order}
	v.class = int64(top.set.Priority) - int64(side.set.Priority)
	if it.owed == nil {
		share, known := shares[it.tenant]
		if !known {
			share = x.pool.shareOf(it.tenant)
			shares[it.tenant] = share
		}
		v.share = share
	}
	return v, true
}

// shareOf returns the dominant share that a tenant holds, by weight.
func (p *Pool) shareOf(t *Tenant) float64 {
	held := p.fair.Held(t.user)
	share, _, _ := held.DominantShare(p.books.total)
	return share / t.set.Weight
}

// beside returns t, or the group that it is in, that has its parent in common with
// another tenant or one of its groups.
func (t *Tenant) beside(other *Tenant) *Tenant {
	for t.parent != nil && !other.isIn(t.parent) {
		t = t.parent
	}
	return t
}

// before reports whether v is preempted before another one. What is not held yet
// goes first, then the lowest class, then leases of the tenant with the most for its
// weight, then the latest promise or grant.
func (v *victim) before(o *victim) bool {
	switch {
	case (v.owed == nil) != (o.owed == nil):
		return v.owed != nil
	case v.class != o.class:
		return v.class < o.class
	case v.share != o.share:
		return v.share > o.share
	}
	return v.order > o.order
}

// choose returns what to preempt on one machine so that need fits in its room, and
// what that costs. It reports false if all of it would not do. Has
// tells what is preempted already; nil is nothing. Cost: O(bunches + chosen * log
// bunches), and O(1) for each item that is passed.
func (p *Pool) choose(need *resources.Vector, room resources.Vector, from *merged, has func(victim) bool) (chosen []victim, sum cost, ok bool) {
	for !resources.Fits(need, &room) {
		v, some := from.next()
		if !some {
			return nil, sum, false
		}
		if helps(v.need, need, &room) && (has == nil || !has(v)) {
			room, chosen = sumOf(&room, v.need, 1), append(chosen, v)
		}
	}
	// A larger lease that came later may do without smaller ones.
	chosen = slices.DeleteFunc(chosen, func(v victim) bool {
		rest := sumOf(&room, v.need, -1)
		fits := resources.Fits(need, &rest)
		if fits {
			room = rest
		}
		return fits
	})
	return chosen, p.costOf(chosen), true
}

// costOf returns what it costs to preempt some victims.
func (p *Pool) costOf(list []victim) cost {
	sum := cost{class: math.MinInt64}
	for _, v := range list {
		if v.owed == nil {
			share, _, _ := v.need.DominantShare(p.books.total)
			sum.class, sum.share = max(sum.class, v.class), sum.share+share
		}
	}
	return sum
}

// is reports whether two victims are the same lease or promise.
func (v *victim) is(o victim) bool { return v.slot == o.slot && v.owed == o.owed && v.order == o.order }

// isIn reports whether t is the given tenant or in that group.
func (t *Tenant) isIn(g *Tenant) bool {
	for ; t != nil; t = t.parent {
		if t == g {
			return true
		}
	}
	return false
}

// depth returns 1 for a tenant or group below the root, one more for each group
// above it.
func (t *Tenant) depth() (n int) {
	for ; t != nil; t = t.parent {
		n++
	}
	return n
}

// helps reports whether an amount has a kind that is short.
func helps(amount, need, room *resources.Vector) bool {
	for k := range need {
		if need[k] > room[k] && amount[k] > 0 {
			return true
		}
	}
	return false
}
