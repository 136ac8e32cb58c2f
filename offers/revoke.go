package offers

import (
	"math"
	"slices"
	"time"

	"github.com/cellsched/cellsched/offers/internal/timers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// highest is the precedence of claims for what is guaranteed.
const highest = omega.Precedence(math.MaxInt32)

// Notice says that a task is to be preempted. A framework that ends it before,
// and says so by [Framework.Release], decides itself how. It does not come to that
// if the request ends for which it was to make room, or finds room otherwise, or is
// beyond the guarantee by then (see Request.Revoke), or can not have it on that
// machine any more, which may be drained: then News.Spared names it.
type Notice struct {
	Task omega.Allocation
	// Until is when it is preempted, the zero time if Config.Grace is [Never]: then the
	// request waits until its framework ends it.
	Until time.Time
}

// plan is a revocation that has begun: what is to become free on which machines,
// and who was told to leave them. Nobody else is offered room there meanwhile.
type plan struct {
	of      *request
	nodes   []*node
	victims [][]victim // by node
	until   time.Time  // the zero time if they have for ever
	timer   timers.Timer
}

// revoke begins what requests may take from others and there is no room for, and
// ends what they may not take any more.
func (ga *gangs) revoke() {
	if ga.planner.halted() {
		return
	}
	for _, r := range ga.registry.requests {
		if !r.Revoke {
			continue
		}
		_, covered := ga.guarantees.covers(r.of, &r.Request)
		if r.plan != nil && (!covered || !ga.guarantees.possible(r.plan)) {
			ga.guarantees.abandon(r) // there may be others to leave for it
		}
		if !covered || r.plan != nil || r.of.silent {
			continue
		}
		nodes, victims := ga.guarantees.chooseVictims(r)
		if nodes == nil {
			continue
		}
		ga.scatter(r)
		p := &plan{of: r, nodes: nodes, victims: victims}
		r.plan = p
		r.of.plans++
		ga.queue.requeue(r.of, false) // else what it is offered now would count against it
		until := after(ga.now, ga.cfg.Grace.or(DefaultGrace))
		for i, n := range nodes {
			ga.letGo(n)
			n.kept = r
			ga.floor.idle.remove(n)
			for k := 0; k < len(n.offers); {
				if n.offers[k].to == r.of || n.offers[k].assured() {
					k++
					continue
				}
				ga.ledger.rescind(n.offers[k], rescinded) // the next one takes its place
			}
			for _, v := range victims[i] {
				ga.inbox.tellRevoked(v.of, Notice{v.task, until})
			}
		}
		if p.until = until; !until.IsZero() {
			ga.timers.Start(&p.timer, until, p)
		}
	}
}

// possible tells whether a request may still have room on the machines of its
// revocation: one may be draining, or be of no use any more, or not be offered.
func (gu *guarantees) possible(p *plan) bool {
	return !slices.ContainsFunc(p.nodes, func(n *node) bool {
		_, ok := gu.usable(n, p.of)
		return !ok
	})
}

// expire is called when the grace is over: who is still there is preempted, by
// the claim that takes its place. Where that fails, since others were faster or
// a machine has gone, it begins anew; so it does where that would now leave a
// framework with less than it is guaranteed, which has ended other tasks or lost
// them meanwhile. Whom it is for has to be within its own guarantee still.
func (ga *gangs) expirePlan(p *plan) {
	if p.of.overdue(ga.now) {
		ga.expireRequest(p.of) // nobody has to leave for who has given up
		return
	}
	if p.of.of.silent {
		ga.guarantees.abandon(p.of) // it may ask anew
		return
	}
	lost := ga.guarantees.losses(p)
	victims := make([][]omega.AllocationID, len(p.nodes))
	_, ok := ga.guarantees.covers(p.of.of, &p.of.Request)
	for i, n := range p.nodes {
		free, usable := ga.guarantees.usable(n, p.of)
		held := ga.floor.holding(n)
		fits := func() bool { return p.of.Each.Fits(ga.floor.beside(n, &held, &free)) }
		for _, v := range ga.guarantees.remaining(p, i) {
			if fits() {
				break
			}
			lost[v.of] = lost[v.of].Add(v.task.Need)
			ok = ok && v.of.spares(lost[v.of], v.task.Need)
			victims[i], free = append(victims[i], v.task.ID), free.Add(v.task.Need)
			held, _ = held.Sub(v.task.Need)
		}
		ok = ok && usable && fits()
	}
	if !ok || ga.planner.halted() {
		ga.guarantees.abandon(p.of)
		return
	}
	ga.grant(p.of, p.nodes, victims)
}

// remaining returns the victims of a revocation that still run on one of its
// machines.
func (gu *guarantees) remaining(p *plan, i int) (victims []victim) {
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

// assured tells whether no revocation takes an offer back: it answers a request that
// may revoke, and its framework is guaranteed all that it runs and is offered so.
func (o *offer) assured() bool {
	if !o.owed {
		return false
	}
	most := o.to.sched.Usage()
	for _, other := range o.to.offers {
		if other.owed {
			most = most.Add(other.Room)
		}
	}
	if a := o.to.accept; a != nil {
		for _, other := range a.offers {
			if other.owed {
				most = most.Add(other.Room)
			}
		}
	}
	for k, q := range o.Room {
		if q > 0 && most[k] > o.to.reg.Guaranteed[k] {
			return false
		}
	}
	return true
}

// doomed returns what frameworks are going to lose to revocations, but for one.
func (gu *guarantees) losses(but *plan) map[*member]resources.Vector {
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

// remind tells whoever speaks for a framework now which of its tasks are revoked.
func (gu *guarantees) remind(f *member) {
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

// abandon ends a revocation: who was told to leave and is still there may stay,
// and the machines are anybody's again.
func (gu *guarantees) abandon(r *request) {
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
