package offers

import (
	"math/bits"
	"slices"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// charge charges f for picks, so many offers to be.
func (q *queue) charge(f *member, room *resources.Vector, picked int) {
	q.turn += uint64(picked)
	q.accounts.setHeld(f, f.account.held.Add(*room))
	q.updatePlace(f, true)
}

// credit takes an amount off a framework's charges.
func (q *queue) credit(f *member, v resources.Vector) {
	held, ok := f.account.held.Sub(v)
	if !ok {
		// Schedulers beside the master charge the account, too: read it.
		held, _ = q.usage(f.account.id)
	}
	q.accounts.setHeld(f, held)
	q.updatePlace(f, false)
}

// recharge reads the charges of a framework.
func (q *queue) recharge(f *member) {
	held, err := q.usage(f.account.id)
	for _, one := range f.account.sharers {
		held = held.Add(one.ended) // which is to be discharged yet
	}
	if err == nil && held != f.account.held {
		q.accounts.setHeld(f, held)
		q.updatePlace(f, false)
	}
}

// rechargeAll reads the charges of an account, if any framework is charged to it.
func (q *queue) rechargeAll(id omega.Account) {
	if a := q.accounts.byID[id]; a != nil {
		q.recharge(a.sharers[0])
	}
}

// updatePlace asks the order anew for the places of a framework and its role.
func (q *queue) updatePlace(f *member, chosen bool) {
	q.rerank(f.role, chosen)
	q.requeue(f, chosen)
}

// requeue puts a framework in line where the order places it. It takes the framework out
// of line if that is not to be offered anything, or has too much of it.
func (q *queue) requeue(f *member, chosen bool) {
	if f.gone || f.sched == nil {
		f.dequeue()
		return
	}
	rank := q.rankOf(f, chosen)
	f.fresh = false
	was, stays := f.queued, f.wants() && f.plans == 0 && (q.cfg.Terms.Optimistic || !q.sated(f))
	if was && stays && !chosen && rank == f.Rank {
		return // where it stands, as most do when the shares of all are looked at again
	}
	if !stays {
		f.dequeue()
	}
	before := f.Place
	if chosen {
		f.Asked = q.turn
	}
	f.Rank = rank
	switch {
	case was && stays && !f.selective:
		// A selective framework is in no line: its machines list it.
		f.role.lines[f.refusalClass].Move(before, f.Place)
	case !was && stays:
		f.enqueue()
		q.wantLeftovers(f)
	}
}

// sated reports whether a framework has as many offers as it may have at once.
func (q *queue) sated(f *member) bool {
	return len(f.offers)+f.picked > 0 && q.enough(f, &f.offered)
}

// enough reports whether offers that add up to so much are all that a framework may have
// at once.
func (q *queue) enough(f *member, offered *resources.Vector) bool {
	return share(offered, &q.total) >= f.most/float64(int(1)<<f.refusalClass)
}

// enqueue puts a framework in line. A selective one waits at its machines instead.
func (f *member) enqueue() {
	f.queued = true
	if !f.selective {
		f.role.lines[f.refusalClass].Insert(&f.Place, f)
	}
}

// dequeue takes a framework out of line.
func (f *member) dequeue() {
	if f.queued && !f.selective {
		f.role.lines[f.refusalClass].Remove(f.Place)
	}
	f.queued = false
}

// setClass changes the refusal class of a framework, or whether it is selective.
func (f *member) setClass(class uint8, selective bool) {
	queued := f.queued
	f.dequeue()
	f.refusalClass, f.selective = class, selective
	if queued {
		f.enqueue()
	}
}

// overdue reports whether a framework was not offered anything while each could have
// been twice.
func (q *queue) overdue(f *member) bool { return q.turn-f.Asked > 2*uint64(q.present) }

// wantLeftovers notes that a framework is to be offered room that others declined.
func (q *queue) wantLeftovers(f *member) {
	if !f.wantsLeftovers {
		f.wantsLeftovers = true
		q.leftovers = append(q.leftovers, f)
	}
}

// revisit notes that a framework may want room that it has seen and left.
func (q *queue) revisit(f *member) {
	f.seen = 0
	if f.queued {
		// One that is not in line is listed when it comes back to it.
		q.wantLeftovers(f)
	}
}

// reshare follows a change of the set of frameworks that want offers. It works out how
// much each is offered at once, by default the fair share, and the precedence of roles.
// Cost: O(frameworks).
func (q *queue) reshare() {
	weights := make(map[*role]float64, q.roles.Len()) // of the frameworks that want offers
	all := 0.0
	q.unshared, q.present = false, 0
	for _, f := range q.registry.order {
		if f.connected && !f.silent {
			q.present++
		}
		if !f.wants() {
			continue
		}
		if weights[f.role] == 0 {
			all += f.role.weight
			f.role.precedence = f.reg.Precedence
		}
		weights[f.role] += f.reg.Weight
		f.role.precedence = max(f.role.precedence, f.reg.Precedence)
	}
	for _, f := range q.registry.order {
		f.most = f.reg.Outstanding
		if f.most == 0 && f.wants() {
			f.most = f.role.weight / all * f.reg.Weight / weights[f.role]
		}
	}
	q.rescale()
}

// rescale asks the order anew for the place of every role and framework.
func (q *queue) rescale() {
	q.stale = false
	q.inbox.tellShortfall()
	for _, r := range slices.Collect(q.roles.All) {
		q.rerank(r, false)
	}
	for _, f := range q.registry.order {
		q.requeue(f, false)
	}
}

// realign puts frameworks that share charged accounts, and their roles, where they
// belong. All of them move alike, as a rule, so that they are in order still. Cost:
// O(roles + frameworks of their roles), and sorting them if they are not in order.
func (q *queue) realign() {
	if len(q.accounts.moved) == 0 {
		return
	}
	for _, a := range q.accounts.moved {
		a.moved = false
		for _, f := range a.sharers {
			if f.queued {
				f.Rank = q.rankOf(f, false)
			}
		}
		for _, s := range a.stakes {
			s.role.moved = true
		}
	}
	clear(q.accounts.moved)
	q.accounts.moved = q.accounts.moved[:0]
	for r := range q.roles.All {
		if !r.moved {
			continue
		}
		r.moved = false
		r.Rank = q.rankOfRole(r, false)
		for c := range r.lines {
			r.lines[c].Sort()
		}
	}
	q.roles.Sort()
}

// countRefusal counts a refusal, however many offers it was of.
func (f *member) countRefusal() {
	f.refusals++
	f.updateClass()
}

// forgetRefusals forgets refusals.
func (f *member) forgetRefusals() {
	if f.refusals > 0 {
		f.refusals = 0
		f.updateClass()
	}
}

func (f *member) updateClass() {
	f.setClass(uint8(min(bits.Len(uint(f.refusals)), classes-1)), f.selective)
}
