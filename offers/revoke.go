package offers

import (
	"github.com/cellsched/cellsched/omega"
)

// revoke begins revocations for requests that may revoke and have no room, and ends those
// that may not go on.
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
		ga.endReservation(r)
		p := &plan{of: r, nodes: nodes, victims: victims}
		r.plan = p
		r.of.plans++
		ga.queue.requeue(r.of, false) // else what it is offered now would count against it
		until := after(ga.now, ga.cfg.Grace.or(defaultGrace))
		for i, n := range nodes {
			ga.endReservationOn(n)
			n.kept = r
			ga.floor.idle.remove(n)
			for k := 0; k < len(n.offers); {
				if n.offers[k].to == r.of || n.offers[k].assured() {
					k++
					continue
				}
				ga.ledger.rescind(n.offers[k], fateRescinded) // the next one takes its place
			}
			for _, v := range victims[i] {
				ga.countRevoked(&v)
				ga.inbox.tellRevoked(v.of, Notice{v.task, until})
			}
		}
		if p.until = until; !until.IsZero() {
			ga.timers.Start(&p.timer, until, p)
		}
	}
}

// expirePlan is called when the grace of a revocation is over. It preempts the victims
// that still run, by the claim that takes their place. The request has to be within the
// guarantee of its framework still.
//
// The revocation begins anew where that fails, since other schedulers were faster or a
// machine has gone. So it does where a framework would now be left with less than its
// guarantee, since it has ended other tasks or lost them meanwhile.
func (ga *gangs) expirePlan(p *plan) {
	if p.of.overdue(ga.now) {
		ga.expireRequest(p.of) // no victim has to leave for a request past its deadline
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
			ok = ok && v.of.keepsGuarantee(lost[v.of], v.task.Need)
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
