package offers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/offers/internal/line"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// sessions follows frameworks as they come, go, fall silent and come back.
type sessions struct {
	*client
	registry   *registry
	inbox      *inbox
	accounts   *accountBook
	queue      *queue
	floor      *floor
	caps       *caps
	ledger     *ledger
	planner    *planner
	accepts    *accepts
	guarantees *guarantees
	gangs      *gangs

	departing []*departure // of frameworks that have ended
	quiet     []*member    // that may come to be silent, see silenceQuiet
	stirred   bool         // since they were looked at last a framework has called or come
}

// Registration says who a framework is and what it wants to be offered. The zero
// Registration with a name is one of weight 1 that wants whatever there is.
type Registration struct {
	// Name is unique among the frameworks of a master, as [resources.CheckName] has it and
	// without a slash. It is bounded with that of the master and a slash in front.
	Name string
	// Role is whom it works for: roles share the cell, frameworks their role.
	Role string
	// Weight is what it counts in its role, from [drf.MinWeight] to [drf.MaxWeight];
	// 0 is 1.
	Weight float64
	// Precedence is that of its tasks, and of what is offered to it.
	Precedence omega.Precedence
	// Account is whom tasks and offers are charged to; 0 is one of its own,
	// called as it is. What others charge to it counts for the framework, too, at
	// once if they are frameworks and else from the next [Master.Step] on:
	// those who share an account get together what one alone would, and a role counts it
	// once. Cost: whenever it has been charged, O(roles + frameworks of the roles of
	// those who share it) before the next offer is made.
	// A cell keeps accounts for ever: where many frameworks come and go, charge
	// them to that of whom they work for.
	Account omega.Account

	// Machines are those that it can use, nil for all.
	Machines omega.Mask
	// Labels are attributes that a machine must have, with one of the values
	// given, or with any if none is.
	Labels map[string][]string
	// Constraints are what else a machine must meet, by its node number, nil for
	// nothing: see [locality.Attributes.Require]. Those that come to meet them, or
	// do not any more, are noticed by the next [Master.Step]; offers that are out
	// stay. Cost: as for other filters a bit for each machine when it is offered, if
	// the machines that it can use are more than four and than one in 64,
	// and each 64 machines once by Step.
	Constraints *locality.Constraints
	// Minimum is the least that is of use to it, of all kinds.
	Minimum resources.Vector
	// Guaranteed is what the framework can have whenever it asks for it, by a
	// [Request] that may revoke what others hold beyond their own: up to that much
	// of its own tasks is never revoked. A kind of which it is 0 is not guaranteed.
	// What all are guaranteed has to fit in the cell, as the master has seen it. If
	// machines go later so that it does not, the guarantees stay: still nobody loses
	// what it is guaranteed, so requests may wait for what there is not, and those
	// concerned are told by News.Short. So they stay when a new master takes over: it
	// takes the word of those of whose tasks it knows from the cell, whatever it has
	// guaranteed to others by then. Those who had none come as anybody else.
	Guaranteed resources.Vector
	// Outstanding is the largest part of the cell, as a dominant share, that it is
	// offered before it answers: it gets no other offer while it has more. 0 is
	// its fair share among those who want offers and can use any of the machines that
	// there are, full or not. Of whoever does not accept it is less: see [Framework.Decline].
	// Where that share becomes smaller since somebody registers or revives, offers beyond
	// it that were not read of yet are rescinded, the latest first, if that one can use
	// them, and offered by the Order. Those that were read of stay until they are answered.
	Outstanding float64

	// Suppressed has it begin as by [Framework.Suppress]: it is offered nothing but what
	// it asks for by a [Request] until it revives. That is for who wants gangs only, or
	// is not ready yet.
	Suppressed bool

	// Long are those of its tasks that run for long, which a new master does not
	// know; others than its own are not looked at.
	Long []omega.AllocationID

	// Failover is how long its tasks and offers last while it is away; by default
	// they do not. See [Framework.Disconnect].
	Failover Span
	// Epoch numbers those who speak for it, one after the other: a standby takes over
	// from whoever is there with a higher one, and that one fails with [ErrFenced]
	// from then on, also if it tries to register again. Who comes back needs one that
	// is not lower than the last. Whoever never takes over leaves it 0. A new
	// master learns it from those who register with it, and nobody remembers it of a
	// framework that has ended.
	Epoch uint64

	// Notify, if not nil, is called when there is news to be read, once until it
	// is, also without any to ask a framework that has not called for as long as an offer
	// lasts whether it is there (see Config.Liveness), and when somebody else speaks for the framework, or nobody any more, so
	// that News fails.
	//
	// It is called by whichever call of the master, or of any framework, brings the
	// news, before that returns, one after the other where several have news. So it
	// must not block: it would hold up that call, perhaps another framework's, and
	// whoever is to be notified after it. The mutex is free, but what it calls of the
	// master or of a framework may call it again before it returns: it should do no
	// more than wake whoever reads the news. If it panics, the others are notified,
	// then the call panics that brought the news: what that did stays done, but what it
	// was about to return is lost.
	Notify func()
}

// complete puts in what the zero Registration stands for.
func (r *Registration) complete() {
	if r.Weight == 0 {
		r.Weight = 1
	}
}

func (r *Registration) check(m *Master) error {
	if err := checkName("framework", r.Name); err != nil {
		return err
	}
	if err := resources.CheckName(m.cfg.Name + "/" + r.Name); err != nil {
		return fault.New("offers", "scheduler of framework", err, ErrName)
	}
	if r.Role != "" {
		if err := resources.CheckName(r.Role); err != nil {
			return fault.Newf("offers", wrapName(err), "framework %q: role", r.Name)
		}
	}
	for key, values := range r.Labels { // any of several mistakes
		if err := resources.CheckName(key); err != nil {
			return fault.Newf("offers", wrapName(err), "framework %q: label", r.Name)
		}
		for _, value := range values {
			if err := resources.CheckName(value); err != nil && value != "" {
				return fault.Newf("offers", wrapName(err), "framework %q: value of label %q", r.Name, key)
			}
		}
	}
	if err := checkWeight(r.Weight); err != nil {
		return fault.Newf("offers", err, "framework %q", r.Name)
	}
	if !(r.Outstanding >= 0 && r.Outstanding <= 1) {
		return fmt.Errorf("%w: framework %q: outstanding offers of %v: want 0 to 1", ErrFraction, r.Name, r.Outstanding)
	}
	if err := r.Minimum.Check(); err != nil {
		return fault.Newf("offers", err, "framework %q: minimum", r.Name)
	}
	if err := r.Guaranteed.Check(); err != nil {
		return fault.Newf("offers", err, "framework %q: guarantee", r.Name)
	}
	if err := r.Failover.check("failover", 0); err != nil {
		return fault.Newf("offers", err, "framework %q", r.Name)
	}
	return nil
}

// copied returns a registration that shares nothing with the caller's.
func (r *Registration) copied() Registration {
	c := *r
	c.Machines, c.Long = slices.Clone(r.Machines), nil
	if r.Labels != nil {
		c.Labels = make(map[string][]string, len(r.Labels))
		for k, v := range r.Labels {
			c.Labels[k] = slices.Clone(v)
		}
	}
	return c
}

// Register adds a framework, and offers it room at once, unless it is Suppressed.
//
// Whoever registers under the name of a framework that is away, or has been left
// behind by an earlier master, or with a higher Epoch, speaks for it from then on: its
// tasks are its own, the offers that it has are told again, and which of its tasks
// are revoked and which machines it is asked to leave, and who spoke for it before is
// fenced. What it registers with holds instead of what did before. Its requests that
// are not answered are forgotten: ask again. The offers of one that was answered are
// told again like any others, not as an answer.
//
// Cost: O(frameworks), O(machines) where it is not new or has filters, O(log n) for each
// offer of others that is rescinded (see Registration.Outstanding), and O(1) for each
// that they have not read of where they have more than their share. Errors:
// [ErrName], [ErrWeight], [ErrFraction], [ErrSpan], [ErrGuarantee],
// [omega.ErrUnknown] for an account that the cell does not have, [resources.ErrQuantity],
// [omega.ErrTooMany], [ErrFenced], also for an Epoch that is lower than the last.
func (m *Master) Register(now time.Time, r Registration) (*Framework, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	r.complete()
	if err := r.check(m); err != nil {
		return nil, err
	}
	long := r.Long
	r = r.copied()
	m.mu.Lock()
	defer m.unlock()
	if err := m.at(now); err != nil {
		return nil, err
	}
	if err := m.awaitDeparture(r.Name); err != nil {
		return nil, err
	}
	f := m.registry.members[r.Name]
	if err := m.sessions.acceptable(f, &r, &resources.Vector{}); err != nil {
		return nil, err
	}
	if r.Account == 0 {
		account, err := m.cell.Account(r.Name)
		if err != nil {
			return nil, fault.New("offers", "framework", err, ErrName)
		}
		r.Account = account
	}
	held, err := m.usage(r.Account)
	if err != nil {
		return nil, fault.Newf("offers", err, "framework %q", r.Name)
	}
	sched, err := m.deputy(r.Name)
	if err != nil {
		return nil, fault.Newf("offers", fenced(err), "framework %q", r.Name)
	}
	if f == nil {
		f = m.sessions.join(r.Name, r.Role)
	}
	m.sessions.enlist(f, r, sched, long, held)
	if m.replan(rooms); m.fenced != nil {
		return nil, m.fenced
	}
	return &Framework{m: m, f: f, sched: sched, epoch: r.Epoch}, nil
}

// awaitDeparture returns an error while the tasks of a framework of that name that has ended
// are to be released. Where commits do not wait, it waits for that.
func (m *Master) awaitDeparture(name string) error {
	for m.sessions.departs(name) && m.fenced == nil {
		if m.remote() {
			return fmt.Errorf("%w: framework %s: the tasks of the one before it are not released yet", ErrName, fault.Quote(name))
		}
		if !m.planner.on && !m.accepts.flies(name) {
			if m.replan(rooms); m.planner.failure != nil {
				return fault.Newf("offers", m.planner.failure, "framework %s: release of its tasks", fault.Quote(name))
			}
			continue
		}
		if err := m.planner.wait(context.Background()); err != nil {
			return err
		}
	}
	return m.fenced
}

// join adds a framework that is away.
func (ss *sessions) join(name, role string) *member {
	f := &member{name: name, account: new(account)}
	ss.insert(f, role)
	return f
}

// insert puts a framework at the end of those that there are.
func (ss *sessions) insert(f *member, role string) {
	ss.registry.last++
	f.Place, f.role = line.Place{Seq: ss.registry.last}, ss.queue.role(role)
	f.role.members++
	ss.registry.members[f.name] = f
	ss.registry.order = append(ss.registry.order, f)
}

// enlist has a framework be there as it has registered, and offers it room.
func (ss *sessions) enlist(f *member, r Registration, sched *omega.Scheduler, long []omega.AllocationID, held resources.Vector) {
	ss.speak(f, r, sched)
	ss.caps.remember(f, long)
	ss.accounts.hold(f, held)
	ss.queue.reshare()
	ss.ledger.recall(f)
	ss.queue.revisit(f)
}

// speak lets a framework be whoever has registered.
func (ss *sessions) speak(f *member, r Registration, sched *omega.Scheduler) {
	ss.inbox.part(f)
	ss.gangs.dropAll(f)
	for f.account.id != r.Account && len(f.offers) > 0 {
		ss.ledger.rescind(f.offers[0], rescinded) // it is charged to the other one
	}
	ss.ledger.discharge()
	f.dequeue()
	ss.queue.realign()
	ss.accounts.unshare(f)
	ss.queue.rerank(f.role, false)
	to := ss.queue.role(r.Role) // which asks the order, so before it leaves the other one
	to.members++
	ss.queue.leaveRole(f)
	f.role = to
	f.reg, f.sched = r, sched
	ss.accounts.share(f, r.Account)
	ss.floor.sift(f)
	f.connected, f.suppressed, f.fresh = true, r.Suppressed, true
	ss.timers.Stop(&f.timer)
	ss.watch(f)
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
		ss.ledger.rescind(f.offers[0], rescinded)
	}
	ss.ledger.discharge()
	for number := range ss.floor.nodes {
		ss.floor.clearFilters(f, uint32(number))
	}
	ss.departing = append(ss.departing, &departure{of: f, account: charged})
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
