package pool

import (
	"cmp"
	"math"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// candidate is a lease, or room that is owed, in the reference below.
type candidate struct {
	slot  uint32
	owed  *waiter
	order uint64 // of the promise
	node  int
	need  resources.Vector
	top   *Tenant // its tenant, or the group of that, among siblings of the other side
	at    *Tenant // the tenant with the guarantee that protects it, as far as is known yet
	class int     // of top, less that of the side of the guarantee
	mine  bool
}

// searched is the reference for Pool.victims: it looks at all leases anew.
func (p *Pool) searched(w *waiter, owed *Tenant) (best int, of []candidate) {
	coming := make([]resources.Vector, len(p.books.machines))
	byNode := make([][]candidate, len(p.books.machines))
	for _, c := range p.unprotected(w, owed, coming) {
		byNode[c.node] = append(byNode[c.node], c)
	}
	best, least, low := -1, 0.0, 0
	for i := range p.books.machines {
		m := &p.books.machines[i]
		if m.gone || m.draining || !p.placement.acceptableNode(w, locality.Node(i)) {
			continue
		}
		room := coming[i]
		for k := range room {
			room[k] += m.capacity[k] - m.held[k] - m.owed[k]
		}
		chosen, sum, ok := p.chosen(&w.need, &owed.guarantee, room, byNode[i])
		class := math.MinInt
		for _, c := range chosen {
			if c.owed == nil {
				class = max(class, c.class)
			}
		}
		if ok && (best < 0 || class < low || class == low && lossOf(sum) < lossOf(least)) {
			best, least, low, of = i, sum, class, chosen
		}
	}
	return best, of
}

// unprotected returns what no guarantee and no class protects from w.
func (p *Pool) unprotected(w *waiter, owed *Tenant, coming []resources.Vector) []candidate {
	var all []candidate
	for i := range p.leases.records {
		r := &p.leases.records[i]
		switch {
		case r.gen&1 == 0 || r.late:
		case r.preempted:
			coming[r.node] = coming[r.node].Add(r.run.Need)
		case !r.tenant.isIn(owed):
			all = append(all, candidate{slot: uint32(i), node: int(r.node), need: r.run.Need, top: r.tenant.branchAgainst(w.tenant), at: r.tenant})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Compare(p.leases.records[a.slot].grant, p.leases.records[b.slot].grant)
	})
	for _, o := range p.promises.list {
		for _, pr := range o.kept.promises {
			if !o.tenant.isIn(owed) {
				all = append(all, candidate{owed: o, order: pr.order, node: pr.node, need: pr.need, top: o.tenant.branchAgainst(w.tenant), at: o.tenant})
			}
		}
	}
	used := make(map[*Tenant]resources.Vector)
	for depth := 4; depth > 0; depth-- {
		for i := range all {
			c := &all[i]
			if c.mine || c.at == nil || c.at.depth() < depth {
				continue
			}
			held := used[c.at]
			if c.mine = covers(&c.at.guarantee, &held, &c.need); c.mine {
				for g := c.at; ; g = g.parent {
					if used[g] = used[g].Add(c.need); g == c.top {
						break
					}
				}
			}
			if c.at == c.top {
				c.at = nil
			} else {
				c.at = c.at.parent
			}
		}
	}
	for i, c := range all {
		side := w.tenant
		for side.parent != c.top.parent {
			side = side.parent
		}
		all[i].class = c.top.set.Priority - side.set.Priority
	}
	return slices.DeleteFunc(all, func(c candidate) bool { return c.mine || c.class > 0 })
}

// chosen returns the leases on one machine to preempt for a need.
func (p *Pool) chosen(need, guarantee *resources.Vector, room resources.Vector, list []candidate) (chosen []candidate, sum float64, ok bool) {
	for k := range need {
		if guarantee[k] == 0 && need[k] > room[k] {
			return nil, 0, false
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		switch {
		case a.owed != nil && b.owed != nil:
			return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(b.order, a.order))
		case a.owed != nil:
			return -1
		case b.owed != nil:
			return 1
		}
		x, y := &p.leases.records[a.slot], &p.leases.records[b.slot]
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(p.tenants.shareOf(y.tenant), p.tenants.shareOf(x.tenant)), cmp.Compare(y.grant, x.grant))
	})
	fits := func() bool {
		for k := range need {
			if need[k] > room[k] {
				return false
			}
		}
		return true
	}
	for _, c := range list {
		if !fits() && helps(&c.need, need, &room) {
			room, chosen = plus(room, c.need, 1), append(chosen, c)
		}
	}
	if !fits() {
		return nil, 0, false
	}
	for i := len(chosen) - 1; i >= 0; i-- {
		before := room
		if room = plus(room, chosen[i].need, -1); fits() {
			chosen = slices.Delete(chosen, i, i+1)
		} else {
			room = before
		}
	}
	for _, c := range chosen {
		if c.owed == nil {
			share, _, _ := c.need.DominantShare(p.books.total)
			sum += share
		}
	}
	return chosen, sum, true
}

func plus(a, b resources.Vector, sign int64) resources.Vector {
	for k := range a {
		a[k] += sign * b[k]
	}
	return a
}
