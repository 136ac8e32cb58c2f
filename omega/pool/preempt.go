package pool

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Guarantees. A tenant or group that waits with a need within its guarantee, and
// finds no room, gets it back: leases of others are preempted, which ends their
// contexts, and the room is reserved. A holder that does not release its lease is
// reported once the grace is over; the room is never given away twice.

var errPreempted = refuse(ErrPreempted, "a guarantee takes the room back")

// demand preempts leases for w if a guarantee covers its need. Called with mu
// held, for a waiter that found no room.
func (p *Pool) demand(w *waiter) {
	if w.kept != nil || w.extra != nil || w != w.tenant.first {
		return
	}
	owed := w.tenant.covered(&w.need)
	if owed == nil || w.tenant.bounded && w.tenant.heldBack(&w.need) {
		return
	}
	node, victims := p.victims(w, owed)
	if node < 0 {
		return
	}
	for _, slot := range victims {
		r := &p.records[slot]
		r.preempted, r.overdue = true, p.at+p.grace
		r.tenant.preempted++
		if p.subscriptions != nil {
			p.tellOf(Preempted, r, 0)
		}
		p.revoked = append(p.revoked, Lease{pool: p, slot: slot, gen: r.gen})
		if r.ctx != nil {
			r.ctx.end(endedPreempted)
		}
	}
	p.keep(w, []locality.Node{locality.Node(node)}, true)
}

// demandAll looks at the first waiter of each tenant with a guarantee.
func (p *Pool) demandAll() {
	for _, t := range p.guaranteed {
		var first *waiter
		for c := range t.below() {
			if w := c.first; w != nil && (first == nil || w.since < first.since) {
				first = w
			}
		}
		if first != nil {
			p.demand(first)
		}
	}
}

// covered returns the tenant or group whose guarantee covers a need beyond what
// it holds, or nil.
func (t *Tenant) covered(need *resources.Vector) *Tenant {
	for g := t; g != nil; g = g.parent {
		if g.set.Guarantee == (resources.Vector{}) {
			continue
		}
		held, enough := t.pool.fair.Held(g.user), true
		for k, least := range g.set.Guarantee {
			// A kind that the guarantee does not name is not taken from others.
			enough = enough && (need[k] == 0 || held[k] <= least-need[k])
		}
		if enough {
			return g
		}
	}
	return nil
}

// victims returns the machine on which the least has to be preempted for w, and
// the leases; -1 if no machine will do. Cost: O(leases log leases).
func (p *Pool) victims(w *waiter, owed *Tenant) (best int, slots []uint32) {
	type victim struct {
		slot  uint32
		share float64
	}
	byNode := make(map[uint32][]victim)
	coming := make(map[uint32]resources.Vector) // preempted for a request that has left
	for i := range p.records {
		r := &p.records[i]
		switch {
		case r.gen&1 == 0 || r.tenant.isIn(owed):
		case r.preempted:
			coming[r.node] = coming[r.node].Add(r.run.Need)
		case r.tenant.set.Priority <= w.tenant.set.Priority:
			held := p.fair.Held(r.tenant.user)
			share, _, _ := held.DominantShare(p.books.total)
			byNode[r.node] = append(byNode[r.node], victim{uint32(i), share / r.tenant.set.Weight})
		}
	}
	best, least := -1, 0.0
	for i := range p.books.machines {
		m := &p.books.machines[i]
		if m.gone || m.draining || m.keeper != nil {
			continue
		}
		room := m.free().Add(coming[uint32(i)])
		list := byNode[uint32(i)]
		// The tenant with the most for its weight gives first, the latest grant
		// before older ones.
		slices.SortFunc(list, func(a, b victim) int {
			return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(p.records[b.slot].grant, p.records[a.slot].grant))
		})
		lost := make(map[drf.User]resources.Vector)
		var chosen []uint32
		sum := 0.0
		for _, v := range list {
			if resources.Fits(&w.need, &room) {
				break
			}
			r := &p.records[v.slot]
			if !r.helps(&w.need, &room) || !r.tenant.spares(&r.run.Need, lost) {
				continue
			}
			for g := r.tenant; g != nil; g = g.parent {
				lost[g.user] = lost[g.user].Add(r.run.Need)
			}
			share, _, _ := r.run.Need.DominantShare(p.books.total)
			room, sum, chosen = room.Add(r.run.Need), sum+share, append(chosen, v.slot)
		}
		if resources.Fits(&w.need, &room) && (best < 0 || sum < least) {
			best, least, slots = i, sum, chosen
		}
	}
	return best, slots
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

// helps reports whether the lease has a kind that is short.
func (r *record) helps(need, room *resources.Vector) bool {
	for k := range need {
		if need[k] > room[k] && r.run.Need[k] > 0 {
			return true
		}
	}
	return false
}

// spares reports whether t and its groups keep their guarantees without a lease.
func (t *Tenant) spares(need *resources.Vector, lost map[drf.User]resources.Vector) bool {
	for g := t; g != nil; g = g.parent {
		held, gone := t.pool.fair.Held(g.user), lost[g.user]
		for k, least := range g.set.Guarantee {
			if least > 0 && need[k] > 0 && held[k]-gone[k]-need[k] < least {
				return false
			}
		}
	}
	return true
}

// Overdue returns the leases that were preempted and are not released although
// their grace is over, with the time since then.
func (p *Pool) Overdue() map[Lease]time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick()
	late := make(map[Lease]time.Duration)
	p.revoked = slices.DeleteFunc(p.revoked, func(l Lease) bool { return l.live() == nil })
	for _, l := range p.revoked {
		if r := l.live(); p.at >= r.overdue {
			late[l] = p.at - r.overdue
		}
	}
	return late
}

// Resize lowers the need of the lease and serves the tenants that are next. An
// amount above the present one fails with [ErrNeed]: a lease does not grow, since
// that could wait for itself. Errors: [ErrReleased]; [ErrNeed];
// [resources.ErrQuantity].
func (l Lease) Resize(need resources.Vector) error {
	p := l.pool
	if p == nil {
		return errZeroLease
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := l.live()
	switch {
	case r == nil:
		return errReleasedTwice
	case need.Check() != nil:
		return refuse(resources.ErrQuantity, fmt.Sprintf("resize of %q to %s", r.tenant.name, p.space.Format(need)))
	case need == resources.Vector{}:
		return refuse(ErrNeed, fmt.Sprintf("resize of %q to nothing: release the lease instead", r.tenant.name))
	case !resources.Fits(&need, &r.run.Need):
		return refuse(ErrNeed, fmt.Sprintf("resize of %q: %s, want at most %s", r.tenant.name, p.space.Format(need), p.space.Format(r.run.Need)))
	}
	p.tick()
	was := r.run.Need
	if err := p.fair.Resize(&r.run, need, p.at); err != nil {
		return err
	}
	p.books.give(int(r.node), &was)
	p.books.take(int(r.node), &need)
	p.epoch, p.freed = p.epoch+1, locality.Node(r.node)
	p.dispatch()
	p.launch()
	return nil
}
