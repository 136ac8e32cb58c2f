package offers

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Framework is the handle of a registered framework: it reads the framework's offers and
// answers them. It is safe for concurrent use.
type Framework struct {
	m     *Master
	f     *member
	sched *omega.Scheduler // starts its tasks
	epoch uint64
}

// enter begins a call. It takes the mutex, which is free again after an error.
func (h *Framework) enter(now time.Time) (m *Master, f *member, err error) {
	if err := h.check(); err != nil {
		return nil, nil, err
	}
	m, f = h.m, h.f
	m.mu.Lock()
	entered := false // false also where an [Order] panics
	defer func() {
		if !entered {
			m.unlock()
		}
	}()
	err = h.noteCall(now)
	entered = err == nil
	return m, f, err
}

// noteCall notes that the framework makes a call, with the mutex held.
func (h *Framework) noteCall(now time.Time) error {
	if err := h.m.at(now); err != nil {
		return err
	}
	switch {
	case h.f.sched == h.sched && h.f.evicted:
		return h.f.over()
	case h.vanished():
		return h.m.comeBack(h)
	// A handle that was replaced fails with ErrFenced, also once the framework has ended.
	case h.f.sched == h.sched && h.f.gone:
		return h.f.over()
	case h.f.sched != h.sched || !h.f.connected:
		return fmt.Errorf("%w: framework %q, epoch %d, of which epoch %d is the last", ErrFenced, h.f.name, h.epoch, h.f.reg.Epoch)
	}
	if h.m.sessions.noteCall(h.f) {
		h.m.replan(planRequests)
	}
	return nil
}

// vanished reports whether the framework was taken for gone, and was not replaced.
func (h *Framework) vanished() bool { return h.f.sched == h.sched && h.f.vanished }

// Name returns the name that it was registered with.
func (h *Framework) Name() string {
	if h.none() {
		return ""
	}
	return h.f.name
}

// Epoch returns the epoch that it was registered with.
func (h *Framework) Epoch() uint64 {
	if h.none() {
		return 0
	}
	return h.epoch
}

// Tasks walks its tasks that run, in no more time than [omega.Cell.Allocations].
func (h *Framework) Tasks() iter.Seq[omega.Allocation] {
	if h.none() {
		return func(func(omega.Allocation) bool) {}
	}
	name := h.m.cfg.Name + "/" + h.f.name
	return func(yield func(omega.Allocation) bool) {
		for a := range h.m.cell.Allocations() {
			if a.Scheduler == name && !yield(a) {
				return
			}
		}
	}
}

// Suppress stops offers to the framework until it revives. It may still answer its
// outstanding offers. A framework that wants no offers from the beginning registers
// [Registration].Suppressed. Cost: O(frameworks). Errors: [ErrFenced], [ErrUnregistered].
func (h *Framework) Suppress(now time.Time) error {
	m, f, err := h.enter(now)
	if err != nil {
		return err
	}
	defer m.unlock()
	if !f.suppressed {
		f.suppressed = true
		m.queue.reshare()
		m.replan(planRooms) // others may be offered more at once
	}
	return m.fenced
}

// Revive ends a suppression and all filters, and has the framework offered the room that
// there is. That includes unread offers of other frameworks beyond their share: see
// Registration.Outstanding. A back-off goes on: see [Framework.Decline].
//
// Cost: O(frameworks + filters + idle machines + unread offers of others), and O(log n)
// for each offer. An idle machine has room that no framework wanted. Errors: [ErrFenced],
// [ErrUnregistered].
func (h *Framework) Revive(now time.Time) error {
	m, f, err := h.enter(now)
	if err != nil {
		return err
	}
	defer m.unlock()
	for _, first := range f.filters {
		for one := first; one != nil; {
			next := one.next
			if one.backoffUntil.After(m.now) {
				m.timers.Start(&one.timer, one.backoffUntil, one)
			} else {
				m.floor.unhide(one)
			}
			one = next
		}
	}
	f.suppressed = false
	m.queue.reshare()
	m.ledger.rescindUnread(f)
	m.queue.revisit(f)
	m.replan(planRooms)
	return m.fenced
}

// Release reports that tasks have ended, or that preempted or lost tasks have stopped. It
// offers their room at once. It releases each task that it can, even if others fail. Where the
// cell has a journal, it waits for that once for all tasks.
//
// Errors, joined: those of [omega.Scheduler.Release]; [ErrFenced], [ErrUnregistered].
func (h *Framework) Release(now time.Time, tasks ...omega.AllocationID) error {
	m, f, err := h.enter(now)
	if err != nil {
		return err
	}
	defer m.unlock()
	var errs []error
	for i, err := range m.releaseAll(f.sched, tasks) {
		id := tasks[i]
		if err != nil {
			m.checkFenced(err)
			errs = append(errs, fault.Newf("offers", fenced(err), "framework %q: release", f.name))
			continue
		}
		delete(f.toldMarks, id)
		f.untell(id)
		m.caps.forgetTask(id)
		if n := int(id.Node()); n < len(m.floor.nodes) {
			m.floor.freed(m.floor.nodes[n])
		}
	}
	if f.gone {
		return errors.Join(errs...) // it was ended meanwhile
	}
	m.queue.recharge(f)
	m.replan(planRooms)
	return errors.Join(errs...)
}

// Unregister ends the framework: its offers are rescinded, its tasks released.
// Cost: O(machines + allocations). Errors: [ErrFenced], [ErrUnregistered].
func (h *Framework) Unregister(now time.Time) error {
	m, f, err := h.enter(now)
	if err != nil {
		return err
	}
	defer m.unlock()
	m.sessions.leave(f)
	m.replan(planRooms)
	return m.fenced
}

// Held returns the charges of its account, its offers included, and the part of them that
// is offers. The cell may know more: see [omega.Cell.Usage].
func (h *Framework) Held() (held, offered resources.Vector) {
	if h.none() {
		return held, offered
	}
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return h.f.account.held, h.f.offered
}

// News returns the events since the last call, and forgets them. Its offers are the ones
// that can be answered at now. Cost: O(news). Errors: [ErrFenced], [ErrUnregistered].
func (h *Framework) News(now time.Time) (News, error) {
	m, f, err := h.enter(now)
	if err != nil {
		return News{}, err
	}
	defer m.unlock()
	news := f.news
	f.news, f.notified = News{}, false
	news.Offers = slices.Grow(news.Offers, len(f.unread))
	for _, id := range f.unread {
		if o, err := m.ledger.offers.find(f, id); err == nil && !o.late(m.now) {
			m.caps.promise(o)
			news.Offers = append(news.Offers, o.Offer)
		}
	}
	f.unread = f.unread[:0]
	for _, a := range news.Answers {
		for i := range a.Offers {
			if n := m.floor.nodeOf(a.Offers[i].Machine); n != nil {
				a.Offers[i].Leave = n.leaveBy
			}
		}
	}
	return news, nil
}

// check returns an error for a handle that no Register has returned.
func (h *Framework) check() error {
	if h.none() {
		return missing("framework is nil or zero: want one of Register")
	}
	return nil
}

// none reports whether h is nil, or not made by [Master.Register].
func (h *Framework) none() bool { return h == nil || h.m == nil }

// Disconnect marks the framework as away until it registers again. Its tasks and offers
// last as long as Registration.Failover, and then end as by Unregister. While it is away
// it is not offered anything, and its requests are forgotten.
//
// A program that finds that a framework has died calls Disconnect, too, or
// [Master.Evict]; the master itself does after Config.Liveness. Cost: O(frameworks).
// Errors: [ErrFenced], [ErrUnregistered].
func (h *Framework) Disconnect(now time.Time) error {
	m, f, err := h.enter(now)
	if err != nil {
		return err
	}
	defer m.unlock()
	m.sessions.disconnect(f)
	m.replan(planRooms)
	return m.fenced
}

// Reply answers an inverse offer; a second answer takes the place of the first.
// Errors: [ErrUnknown] if the framework was not asked to leave that machine,
// [ErrFenced], [ErrUnregistered].
func (h *Framework) Reply(now time.Time, machine omega.MachineID, agreed bool) error {
	m, f, err := h.enter(now)
	if err != nil {
		return err
	}
	defer m.unlock()
	if n := m.floor.nodeOf(machine); n != nil {
		for i := range n.replies {
			if r := &n.replies[i]; r.Framework == f.name {
				r.Answered, r.Agreed = true, agreed
				return nil
			}
		}
	}
	return fault.New("offers", fmt.Sprintf("framework %q: inverse offer of machine %s", f.name, m.nameOf(machine)), errUnknown, ErrUnknown)
}

// awaits reports whether an offer answers a request, and the framework has not read of it.
func (f *member) awaits(id OfferID) bool {
	return slices.ContainsFunc(f.news.Answers, func(a Answer) bool {
		return slices.ContainsFunc(a.Offers, func(o Offer) bool { return o.ID == id })
	})
}
