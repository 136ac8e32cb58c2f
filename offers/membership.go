package offers

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/offers/internal/line"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// join adds a framework that is away.
func (ss *sessions) join(name, role string) *member {
	f := &member{name: name, account: new(account)}
	ss.insert(f, role)
	return f
}

// insert puts a framework at the end of the list.
func (ss *sessions) insert(f *member, role string) {
	ss.registry.last++
	f.Place, f.role = line.Place{Seq: ss.registry.last}, ss.queue.roleOf(role)
	f.role.members++
	ss.registry.members[f.name] = f
	ss.registry.order = append(ss.registry.order, f)
}

// enlist has a framework be there as it has registered, and offers it room.
func (ss *sessions) enlist(f *member, r Registration, sched *omega.Scheduler, long []omega.AllocationID, held resources.Vector) {
	ss.bind(f, r, sched)
	ss.caps.remember(f, long)
	ss.accounts.setHeld(f, held)
	ss.queue.reshare()
	ss.ledger.rescindUnread(f)
	ss.queue.revisit(f)
}

// bind binds a framework to a new registration and its scheduler.
func (ss *sessions) bind(f *member, r Registration, sched *omega.Scheduler) {
	ss.inbox.part(f)
	ss.gangs.dropAll(f)
	for f.account.id != r.Account && len(f.offers) > 0 {
		ss.ledger.rescind(f.offers[0], fateRescinded) // it is charged to the other one
	}
	ss.ledger.discharge()
	f.dequeue()
	ss.queue.realign()
	ss.accounts.unshare(f)
	ss.queue.rerank(f.role, false)
	to := ss.queue.roleOf(r.Role) // which asks the order, so before it leaves the other one
	to.members++
	ss.queue.leaveRole(f)
	f.role = to
	f.reg, f.sched = r, sched
	ss.accounts.share(f, r.Account)
	ss.floor.matchAll(f)
	f.connected, f.suppressed, f.fresh = true, r.Suppressed, true
	ss.timers.Stop(&f.timer)
	ss.startWatch(f)
	// All is told again, in the order in which it was offered.
	f.news, f.notified, f.toldMarks, f.short = News{}, false, nil, resources.Vector{}
	f.unread = f.unread[:0]
	slices.SortFunc(f.offers, func(a, b *offer) int { return cmp.Compare(a.ID.serial, b.ID.serial) })
	for i, o := range f.offers {
		if ss.caps.enabled() {
			ss.caps.unpromise(o)
		}
		o.ofMember, o.told = i, false
		ss.ledger.tellOffer(f, o)
	}
	ss.guarantees.remind(f)
	ss.askAgain(f)
}

// leave ends a framework: nothing of it is left, also in the cell.
func (ss *sessions) leave(f *member) {
	charged := f.account.id
	ss.inbox.part(f)
	f.dequeue()
	f.connected, f.silent, f.gone = false, false, true
	ss.gangs.dropAll(f)
	ss.timers.Stop(&f.timer)
	ss.timers.Stop(&f.watch.timer)
	for len(f.offers) > 0 {
		ss.ledger.rescind(f.offers[0], fateRescinded)
	}
	ss.ledger.discharge()
	for number := range ss.floor.nodes {
		ss.floor.clearFilters(f, uint32(number))
	}
	ss.departing = append(ss.departing, &departure{of: f, sched: f.sched, account: charged})
	ss.caps.forget(f)
	ss.floor.forgetUses(f)
	ss.queue.realign()
	ss.accounts.unshare(f)
	ss.queue.rerank(f.role, false)
	ss.queue.leaveRole(f)
	delete(ss.registry.members, f.name)
	ss.registry.order = slices.DeleteFunc(ss.registry.order, func(one *member) bool { return one == f })
	for _, n := range ss.floor.nodes {
		if n.last == f {
			n.last = nil
		}
		n.replies = slices.DeleteFunc(n.replies, func(r Reply) bool { return r.Framework == f.name })
	}
	ss.queue.unshared = true
}

// acceptable returns an error for a registration that cannot be accepted, if other
// frameworks are guaranteed that much more than now. The framework that has the name now
// is f, or nil.
func (ss *sessions) acceptable(f *member, r *Registration, more *resources.Vector) error {
	if f != nil {
		if err := f.admits(r.Epoch); err != nil {
			return err
		}
	}
	if err := ss.registry.checkGuarantee(f, r, more); err != nil {
		return err
	}
	if r.Account != 0 {
		if _, err := ss.cell.Usage(r.Account); err != nil {
			return fault.Newf("offers", err, "framework %q", r.Name)
		}
	}
	return nil
}

// disconnect has a framework be away.
func (ss *sessions) disconnect(f *member) {
	ss.inbox.part(f)
	f.connected, f.silent = false, false
	ss.timers.Stop(&f.watch.timer)
	ss.gangs.dropAll(f)
	ss.queue.unshared = true
	ss.await(f, f.reg.Failover.or(0))
}

// await gives a framework that long to come back.
func (ss *sessions) await(f *member, d time.Duration) {
	if d == 0 {
		ss.leave(f)
	} else if until := after(ss.now, d); !until.IsZero() {
		ss.timers.Start(&f.timer, until, f)
	}
}

// expireMember ends a framework that has not come back in time.
func (ss *sessions) expireMember(f *member) {
	ss.leave(f)
}

// recover takes over from an earlier master. The room that it has offered is free, and
// its frameworks are expected to register.
//
// The master got its scheduler by [omega.Cell.Replace]. From then on no scheduler of a
// framework is granted anything: they were deputies of the scheduler that was replaced.
// So all frameworks that have tasks are found.
func (ss *sessions) recover() {
	for mark := range ss.sched.Marked() {
		ss.note(ss.client.release(ss.sched, mark.Allocation.ID))
	}
	for a := range ss.sched.Allocations() {
		ss.note(ss.client.release(ss.sched, a.ID))
	}
	for r := range ss.planner.snap.Reservations() {
		if r.Scheduler == ss.cfg.Name {
			ss.gangs.unwanted = append(ss.gangs.unwanted, r.ID) // of the predecessor
		}
	}
	prefix := ss.cfg.Name + "/"
	for a := range ss.cell.Allocations() {
		if name, of := strings.CutPrefix(a.Scheduler, prefix); of && ss.registry.members[name] == nil {
			ss.accounts.share(ss.join(name, ""), a.Account)
		}
	}
	for _, f := range slices.Clone(ss.registry.order) {
		held, err := ss.cell.Usage(f.account.id)
		ss.note(err)
		ss.accounts.setHeld(f, held)
		ss.await(f, ss.cfg.Recovery.or(defaultRecovery))
	}
}

// unask forgets that frameworks were asked to leave a machine. Inverse offers that are
// not read yet are forgotten, too.
func (ss *sessions) unask(n *node) {
	if !n.leaveBy.IsZero() {
		for _, f := range ss.registry.order {
			f.news.Leave = slices.DeleteFunc(f.news.Leave, func(l Leave) bool { return l.Machine == n.id })
		}
	}
	n.leaveBy, n.replies = time.Time{}, nil
}

// askAgain repeats the inverse offers that a framework has not answered, perhaps since it
// was away. After the time to leave there is nothing to ask any more.
func (ss *sessions) askAgain(f *member) {
	for _, n := range ss.floor.nodes {
		if !ss.now.Before(n.leaveBy) || !slices.Contains(n.replies, Reply{Framework: f.name}) {
			continue
		}
		l := Leave{Machine: n.id, By: n.leaveBy}
		for _, a := range ss.cell.AllocationsOn(n.id) {
			if ss.registry.ownerOf(&a) == f {
				l.Tasks = append(l.Tasks, a.ID)
			}
		}
		if len(l.Tasks) > 0 {
			f.news.Leave = append(f.news.Leave, l)
			ss.inbox.tell(f)
		}
	}
}
