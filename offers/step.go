package offers

import (
	"context"
	"maps"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Step follows the time and the cell. Offers and filters expire; machines come, go and
// change; tasks are preempted or lost. Then it offers the free room.
//
// Call it from time to time, such as every Config.Interval; at [Master.Next] something is
// due. An earlier now than before counts as that.
//
// Cost: that of [omega.Snapshot.Refresh], and
//
//   - O(frameworks + tasks preempted or lost), whatever has changed, since the account
//     and the marks of each framework are looked at;
//   - O(machines/64) for each framework with constraints;
//   - O(log n) for each offer and expiry;
//   - a few bits for each framework that is passed over for an offer;
//   - O(frameworks) for a machine that has come or gone, or has another size or other
//     attributes.
//
// A framework that can use no machine is not passed over. One that can use four machines,
// or one in 64, is passed over only for these.
//
// Errors: [ErrFenced]; those of Config.Store, after which the next Step tries anew.
func (m *Master) Step(now time.Time) error { return m.StepContext(context.Background(), now) }

// StepContext is [Master.Step] that waits for Config.Store no longer than ctx lasts.
// While it waits the other methods answer; another Step does nothing then, and is no
// error.
//
// After [omega.ErrOutcome] nothing is offered before a Step has asked again for the
// outcome of the transaction.
func (m *Master) StepContext(ctx context.Context, now time.Time) error {
	if err := m.check(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.unlock()
	if err := m.at(now); err != nil {
		return err
	}
	if m.superseded() {
		return m.fenced
	}
	if m.planner.on {
		return nil
	}
	if m.remote() {
		m.planner.begin(func() context.Context { return ctx })
	} else {
		m.planner.begin(nil)
	}
	defer m.planner.finish()
	m.planner.resume()
	if m.planner.halted() {
		return m.planner.failed()
	}
	if err := m.observe(ctx); err != nil {
		m.planner.fail(err)
		return m.planner.failed()
	}
	// The effects of a turn may be due at now, too: a revocation without grace begins and
	// ends, and its victims are told.
	for range tries {
		m.planner.behind = planNone
		m.expireDue()
		m.reclaim()
		m.syncUsage()
		m.answerRequests(planRequests)
		m.offerRooms()
		if left := m.report(); left.settled(m.now) || m.planner.halted() {
			break
		}
	}
	return m.planner.failed()
}

// observe is the first phase of a step: it follows the changes of others in the cell. It
// notices machines, then constraints, then offers and tasks that are lost. Then
// schedulers of frameworks that have ended leave the cell if they can.
func (m *Master) observe(ctx context.Context) error {
	m.settleReturns() // before the changes that they have made are read
	if err := m.planner.refresh(ctx, m.onState); err != nil {
		return err
	}
	m.gangs.recount()
	m.floor.applyConstraints()
	m.acknowledge()
	m.sessions.depart()
	return nil
}

// expireDue ends what is due, and has frameworks that are silent count no more.
func (m *Master) expireDue() {
	for of := m.timers.Due(m.now); of != nil; of = m.timers.Due(m.now) {
		m.expire(of)
	}
	m.sessions.silenceQuiet()
}

// answerRequests answers requests, and begins and ends revocations for them, so far as that
// is left to do.
func (m *Master) answerRequests(what lag) {
	if what == planRequests {
		m.gangs.serve()
	}
	if what >= planRevocations {
		m.gangs.revoke()
	}
	if what == planRequests {
		m.gangs.reserveNext()
	}
}

// offerRooms offers the free room, by the shares that follow from the frameworks that
// have ended.
func (m *Master) offerRooms() {
	if m.planner.halted() {
		return
	}
	m.gangs.endUnwanted()
	m.reclaim()
	m.rounds.run()
}

// workLeft reports whether a turn of a step has left something to do, and its time.
type workLeft struct {
	at  time.Time
	due bool
}

// settled reports whether nothing is left to be done at now.
func (w workLeft) settled(now time.Time) bool { return !w.due || w.at.After(now) }

// report is the last phase: frameworks are told which of their tasks were preempted.
func (m *Master) report() workLeft {
	if m.gangs.preempted {
		m.acknowledge()
	}
	at, due := m.pending()
	return workLeft{at, due}
}

// reclaim releases the tasks of frameworks that have ended, and has charges and shares
// follow.
func (m *Master) reclaim() {
	m.sessions.releaseDeparted()
	m.ledger.discharge()
	if m.queue.unshared {
		m.queue.reshare()
	}
}

// Next returns the time at which something is due next, and false if nothing is. Nothing
// is due while a call waits for Config.Store: see Sooner.
//
// A call may have left work to do. The time is then the last one that the master was
// told. An example is a machine on which other schedulers were faster time and again.
// Step has something to do then at once. While the journal of the cell has room to release,
// a Step is due after Config.Interval.
func (m *Master) Next() (time.Time, bool) {
	if m.none() {
		return time.Time{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.due()
}

// due is Next with the mutex held.
func (m *Master) due() (time.Time, bool) {
	switch {
	case m.planner.on:
		return time.Time{}, false
	case m.planner.hand != nil || m.planner.failure != nil:
		return m.planner.retry, true
	}
	return m.pending()
}

// pending is Next in the midst of a step.
func (m *Master) pending() (time.Time, bool) {
	if m.planner.behind != planNone || m.gangs.preempted || len(m.floor.dirty)+len(m.queue.leftovers)+len(m.gangs.unwanted) > 0 || m.sessions.called && len(m.sessions.quiet) > 0 {
		return m.now, true
	}
	at, due := m.timers.Next()
	if len(m.returning) > 0 {
		if look := m.now.Add(min(m.cfg.Interval.or(DefaultInterval), maxRefuse)); !due || look.Before(at) {
			return look, true // no call comes when the room is free
		}
	}
	return at, due
}

// Sooner returns a channel that is closed when a call has made something due before all
// that was. A caller that sleeps until [Master.Next] then asks anew. Get the channel
// before the time, so as to miss nothing in between.
func (m *Master) Sooner() <-chan struct{} {
	if m.none() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sooner == nil {
		m.sooner = make(chan struct{})
	}
	return m.sooner
}

// announce closes the channel of Sooner if something is due sooner than it was when the
// last call ended.
func (m *Master) announce() {
	next, _ := m.due()
	if m.sooner != nil && !next.IsZero() && (m.next.IsZero() || next.Before(m.next)) {
		close(m.sooner)
		m.sooner = nil
	}
	m.next = next
}

// unlock ends a call: frameworks with news are told with the mutex free.
func (m *Master) unlock() {
	m.announce()
	wake := m.inbox.wake
	m.inbox.wake = nil
	m.mu.Unlock()
	callAll(wake)
}

// callAll makes the calls one after the other, also the ones after a panic.
func callAll(calls []func()) {
	next := 0
	defer func() {
		if next < len(calls) {
			callAll(calls[next:])
		}
	}()
	for next < len(calls) {
		next++
		calls[next-1]()
	}
}

// acknowledge takes back the offers that were preempted or lost, and passes on
// which tasks were.
func (m *Master) acknowledge() {
	m.gangs.preempted = false
	for mark := range m.sched.Marked() {
		if n := m.floor.nodeOf(mark.Allocation.Machine); n != nil {
			for _, o := range n.offers {
				if o.claim == mark.Allocation.ID {
					m.ledger.rescind(o, fateRescinded)
					break
				}
			}
		}
	}
	for _, f := range m.registry.order {
		m.inbox.tellMarks(f)
	}
}

// syncUsage reads from the cell the charges of each account: others may charge them, too.
func (m *Master) syncUsage() {
	for _, f := range m.registry.order {
		held, err := m.usage(f.account.id)
		if err == nil && held != f.account.held {
			m.accounts.setHeld(f, held)
			m.queue.updatePlace(f, false)
		}
	}
}

// expire follows a timer that is due, by the record that the timer is part of.
func (m *Master) expire(of any) {
	switch of := of.(type) {
	case *offer:
		m.ledger.expireOffer(of)
	case *filter:
		m.floor.expireFilter(of)
	case *request:
		m.gangs.expireRequest(of)
	case *plan:
		m.gangs.expirePlan(of)
	case *reserving:
		m.gangs.expireReservation(of)
	case *member:
		m.sessions.expireMember(of)
	case *watch:
		m.sessions.expireWatch(of)
	}
}

// replan plans that much, in this call, in the one that plans already, or in the next Step.
func (m *Master) replan(what lag) {
	p := m.planner
	p.behind = max(p.behind, what)
	if p.on || m.remote() {
		m.ledger.discharge()
		return
	}
	m.planner.begin(nil)
	defer m.planner.finish()
	for range tries {
		if what, p.behind = p.behind, planNone; what == planNone {
			return
		}
		m.answerRequests(what)
		m.offerRooms()
	}
}

// see notes the present state of a machine.
func (m *Master) see(st omega.MachineState) {
	number := int(st.ID.Node())
	for len(m.floor.nodes) <= number {
		m.floor.nodes = append(m.floor.nodes, &node{number: uint32(len(m.floor.nodes)), gone: true})
	}
	n := m.floor.nodes[number]
	removed := st.Condition == omega.Removed
	if !n.gone && (removed || n.id != st.ID) {
		m.lose(n)
	}
	if removed {
		return
	}
	if n.gone || n.capacity != st.Capacity || !maps.Equal(n.labels, st.Attributes) {
		m.total, _ = m.total.Sub(n.capacity)
		m.total = m.total.Add(st.Capacity)
		n.id, n.capacity, n.labels, n.gone = st.ID, st.Capacity, st.Attributes, false
		m.floor.rematchMachine(n)
	}
	m.floor.markDirty(n)
	if st.Condition == omega.Draining {
		m.ledger.takeBack(n) // else tasks would start there until they expire
	}
	n.free, n.known = st.Free, st.Condition == omega.Ready
}

// lose forgets a machine that was removed.
func (m *Master) lose(n *node) {
	m.ledger.takeBack(n)
	for _, a := range m.accepts.flights {
		for _, o := range a.offers {
			if o.node == n && o.Machine == n.id && m.caps.enabled() {
				m.caps.unpromise(o)
				o.Long = resources.Vector{}
			}
		}
	}
	for _, f := range m.registry.order {
		m.floor.clearFilters(f, n.number)
	}
	m.total, _ = m.total.Sub(n.capacity)
	m.floor.idle.remove(n)
	m.sessions.unask(n)
	if n.revoking() {
		m.guarantees.abandon(n.kept)
	}
	m.gangs.endReservationOn(n)
	*n = node{number: n.number, gone: true, offers: n.offers, own: n.own, dirty: n.dirty}
	m.floor.rematchMachine(n)
}
