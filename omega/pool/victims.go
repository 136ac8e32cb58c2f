package pool

import (
	"cmp"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// victim is a lease that may be preempted, or room that is owed to a request.
type victim struct {
	slot uint32  // of the lease
	owed *waiter // to whom the room is owed, nil of a lease
	node uint32
	need *resources.Vector
	top  *Tenant // its tenant, or the group of that, among siblings of the owed side
	at   *Tenant // whose guarantee protects it, as far as is known yet
	mine bool    // it is within the guarantee of its tenant or group
}

// victims returns the machine on which the least has to be preempted for w, whose
// need the guarantee of owed covers, and the leases; -1 if no machine will do.
// Room that is owed to a request of others, and not safe, is taken first.
//
// A lease is safe if it is within the guarantee of its own tenant or group, the
// oldest leases first, or of a higher class. Bound: on one machine, where all
// classes are the same, there is room for the need. (1) What is held or owed
// within owed, and the need, are at most its guarantee; (2) the safe leases of
// others are at most theirs; (3) guarantees add up to no more than the machine
// has. Cost: O(leases * log leases).
func (p *Pool) victims(w *waiter, owed *Tenant) (best int, of []victim) {
	byNode := make(map[uint32][]victim)
	coming := make(map[uint32]resources.Vector) // of leases that are preempted already
	for _, v := range p.unprotected(w, owed, coming) {
		byNode[v.node] = append(byNode[v.node], v)
	}
	best, least := -1, 0.0
	for i := range p.books.machines {
		m := &p.books.machines[i]
		if m.gone || m.draining || !p.acceptableNode(w, locality.Node(i)) {
			continue
		}
		room := coming[uint32(i)]
		for k := range room {
			room[k] += m.capacity[k] - m.held[k] - m.owed[k]
		}
		chosen, sum, ok := p.choose(&w.need, &owed.set.Guarantee, room, byNode[uint32(i)])
		if ok && (best < 0 || sum < least) {
			best, least, of = i, sum, chosen
		}
	}
	return best, of
}

// unprotected returns the leases outside owed that no guarantee and no class
// protects from w, and adds those that are preempted already to coming.
func (p *Pool) unprotected(w *waiter, owed *Tenant, coming map[uint32]resources.Vector) []victim {
	var all []victim
	deepest := 0
	for i := range p.records {
		r := &p.records[i]
		switch {
		case r.gen&1 == 0:
		case r.preempted:
			coming[r.node] = coming[r.node].Add(r.run.Need)
		case !r.tenant.isIn(owed):
			all = append(all, victim{slot: uint32(i), node: r.node, need: &r.run.Need, top: r.tenant.beside(w.tenant), at: r.tenant})
			deepest = max(deepest, r.tenant.depth())
		}
	}
	slices.SortFunc(all, func(a, b victim) int { return cmp.Compare(p.records[a.slot].grant, p.records[b.slot].grant) })
	// What is owed will be held: it uses guarantees up as the latest leases do.
	for _, o := range p.reserves {
		if o.kept.owed && !o.tenant.isIn(owed) {
			all = append(all, victim{owed: o, node: uint32(o.kept.nodes[0]), need: &o.need, top: o.tenant.beside(w.tenant), at: o.tenant})
			deepest = max(deepest, o.tenant.depth())
		}
	}
	// The guarantees of tenants protect first, then those of the groups above.
	used := make(map[*Tenant]resources.Vector)
	for depth := deepest; depth > 0; depth-- {
		for i := range all {
			v := &all[i]
			if v.mine || v.at == nil || v.at.depth() < depth {
				continue
			}
			so := used[v.at]
			if v.mine = covers(&v.at.set.Guarantee, &so, v.need); v.mine {
				for g := v.at; ; g = g.parent {
					if used[g] = used[g].Add(*v.need); g == v.top {
						break
					}
				}
			}
			if v.at == v.top {
				v.at = nil
			} else {
				v.at = v.at.parent
			}
		}
	}
	return slices.DeleteFunc(all, func(v victim) bool {
		side := w.tenant
		for side.parent != v.top.parent {
			side = side.parent
		}
		return v.mine || v.top.set.Priority > side.set.Priority
	})
}

// beside returns t, or the group that it is in, that has its parent in common with
// another tenant or one of its groups.
func (t *Tenant) beside(other *Tenant) *Tenant {
	for t.parent != nil && !other.isIn(t.parent) {
		t = t.parent
	}
	return t
}

// choose returns the leases on one machine to preempt so that need fits in its
// room, and the sum of their shares. Kinds that the guarantee does not name are
// not taken from others.
func (p *Pool) choose(need, guarantee *resources.Vector, room resources.Vector, list []victim) (chosen []victim, sum float64, ok bool) {
	for k := range need {
		if guarantee[k] == 0 && need[k] > room[k] {
			return nil, 0, false
		}
	}
	shares := make(map[*Tenant]float64) // held, by weight
	for _, v := range list {
		if v.owed != nil {
			continue
		}
		t := p.records[v.slot].tenant
		if _, known := shares[t]; !known {
			held := p.fair.Held(t.user)
			share, _, _ := held.DominantShare(p.books.total)
			shares[t] = share / t.set.Weight
		}
	}
	// What is not held yet goes first, the latest promise before older ones. Then the
	// tenant with the most for its weight gives, the latest grant before older ones.
	slices.SortStableFunc(list, func(a, b victim) int {
		switch {
		case a.owed != nil && b.owed != nil:
			return cmp.Compare(b.owed.kept.made, a.owed.kept.made)
		case a.owed != nil:
			return -1
		case b.owed != nil:
			return 1
		}
		x, y := &p.records[a.slot], &p.records[b.slot]
		return cmp.Or(cmp.Compare(shares[y.tenant], shares[x.tenant]), cmp.Compare(y.grant, x.grant))
	})
	for _, v := range list {
		if resources.Fits(need, &room) {
			break
		}
		if helps(v.need, need, &room) {
			room, chosen = room.Add(*v.need), append(chosen, v)
		}
	}
	if !resources.Fits(need, &room) {
		return nil, 0, false
	}
	// A larger lease that came later may do without smaller ones.
	chosen = slices.DeleteFunc(chosen, func(v victim) bool {
		rest, fits := room.Sub(*v.need)
		if fits = fits && resources.Fits(need, &rest); fits {
			room = rest
		}
		return fits
	})
	for _, v := range chosen {
		if v.owed == nil {
			share, _, _ := v.need.DominantShare(p.books.total)
			sum += share
		}
	}
	return chosen, sum, true
}

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
