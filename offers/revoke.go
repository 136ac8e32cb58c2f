package offers

import (
	"github.com/cellsched/cellsched/omega"
)

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
		until := after(ga.now, ga.cfg.Grace.or(defaultGrace))
		for i, n := range nodes {
			ga.letGo(n)
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
				ga.inbox.tellRevoked(v.of, Notice{v.task, until})
			}
		}
		if p.until = until; !until.IsZero() {
			ga.timers.Start(&p.timer, until, p)
		}
	}
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
