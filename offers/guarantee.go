package offers

import (
	"fmt"
	"slices"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// guaranteeBook decides which tasks may be revoked so that other frameworks have their
// guarantees.
type guaranteeBook struct {
	*client
	registry *registry
	inbox    *inbox
	queue    *queue
	floor    *floor
	accepts  *accepts
}

// covers returns the sum of a request and the earlier ones of its framework that revoke.
// Ok reports whether that sum, the running tasks and the offers of the framework together
// are within its guarantee. Only the kinds of the request count.
func (gu *guaranteeBook) covers(f *member, r *Request) (asks resources.Vector, ok bool) {
	asks = r.total()
	for _, other := range gu.registry.requests {
		if &other.Request == r {
			break
		}
		if other.of == f && other.Revoke && !other.overdue(gu.now) {
			asks = asks.Add(other.total())
		}
	}
	most := f.runs().Add(f.offered).Add(asks)
	for k, q := range r.Each {
		if q > 0 && most[k] > f.reg.Guaranteed[k] {
			return asks, false
		}
	}
	return asks, true
}

// beyond returns the error of a framework that would exceed its guarantee. It names both
// amounts.
func (gu *guaranteeBook) beyond(f *member, asks resources.Vector) error {
	runs := f.runs()
	return fmt.Errorf("%w: framework %q would hold %s, of which it runs %s, is offered %s and asks for %s: it is guaranteed %s",
		ErrExceeds, f.name, gu.format(runs.Add(f.offered).Add(asks)),
		gu.format(runs), gu.format(f.offered), gu.format(asks), gu.format(f.reg.Guaranteed))
}

// possible reports whether a request may still have room on the machines of its
// revocation. A machine may be draining, or be of no use any more, or not be offered.
func (gu *guaranteeBook) possible(p *plan) bool {
	return !slices.ContainsFunc(p.nodes, func(n *node) bool {
		_, ok := gu.usable(n, p.of)
		return !ok
	})
}

// remaining returns the victims of a revocation that still run on one of its
// machines.
func (gu *guaranteeBook) remaining(p *plan, i int) (victims []victim) {
	if len(p.victims[i]) == 0 {
		return nil
	}
	on := gu.cell.AllocationsOn(p.nodes[i].id)
	for _, v := range p.victims[i] {
		if slices.ContainsFunc(on, func(a omega.Allocation) bool { return a.ID == v.task.ID }) {
			victims = append(victims, v)
		}
	}
	return victims
}

// losses returns the amounts that frameworks are going to lose to revocations, but for
// one.
func (gu *guaranteeBook) losses(but *plan) map[*member]resources.Vector {
	lost := make(map[*member]resources.Vector)
	for _, r := range gu.registry.requests {
		if r.plan == nil || r.plan == but {
			continue
		}
		for i := range r.plan.nodes {
			for _, v := range gu.remaining(r.plan, i) {
				lost[v.of] = lost[v.of].Add(v.task.Need)
			}
		}
	}
	return lost
}

// remind tells the framework again which of its tasks are revoked.
func (gu *guaranteeBook) remind(f *member) {
	for _, r := range gu.registry.requests {
		if r.plan == nil {
			continue
		}
		for i := range r.plan.nodes {
			for _, v := range gu.remaining(r.plan, i) {
				if v.of == f {
					gu.inbox.tellRevoked(f, Notice{v.task, r.plan.until})
				}
			}
		}
	}
}

// abandon ends a revocation: victims that still run may stay, and the machines are free
// for any framework again.
func (gu *guaranteeBook) abandon(r *request) {
	if r.plan == nil {
		return
	}
	gu.timers.Stop(&r.plan.timer)
	for i, n := range r.plan.nodes {
		for _, v := range gu.remaining(r.plan, i) {
			gu.inbox.tellSpared(v.of, v.task)
		}
		if n.kept == r {
			n.kept = nil
			gu.floor.markDirty(n)
		}
	}
	r.plan = nil
	r.of.plans--
	gu.queue.requeue(r.of, false)
}

// usable returns the free room of a machine if a request may have room there. The room of the
// master's reservation is included, that of other schedulers' reservations is not. No victim
// has to leave for a framework that declines such room again and again.
func (gu *guaranteeBook) usable(n *node, r *request) (free resources.Vector, ok bool) {
	if n.gone || !r.of.suits(n) || r.of.backedOff(n, &r.Each, gu.now) || !gu.cfg.Terms.Machines.Has(n.id.Node()) {
		return free, false
	}
	st, in := gu.cell.State(n.id)
	if n.partReserved() {
		st.Free = st.Free.Add(st.Reserved.Min(n.kept.Each))
	}
	return st.Free, in && st.Condition == omega.Ready
}
