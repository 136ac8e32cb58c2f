package offers

import (
	"fmt"
	"slices"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// patience is after how long without a call a framework is quiet.
func (ss *sessions) patience(f *member) time.Duration {
	if f.watch.slow > 0 {
		return f.watch.slow
	}
	return multiple(ss.timeout(), 2)
}

// expected tells whether a framework has a reason to call: it waits for offers or for
// answers.
func (ss *sessions) expected(f *member) bool {
	return !f.suppressed || slices.ContainsFunc(ss.registry.requests, func(r *request) bool { return r.of == f })
}

// hear notes that a framework has called, and reports whether it was silent. One that was silent is offered what there is, as
// if it had just come.
func (ss *sessions) hear(f *member) (back bool) {
	w := &f.watch
	was, quiet := w.heard, w.quiet
	w.heard, w.asked, w.quiet = ss.now, time.Time{}, false
	if w.lax {
		w.lax = false
		ss.alarm(w, ss.now, ss.question())
	}
	if !f.silent {
		w.missed = 0
	}
	if !quiet {
		return false
	}
	ss.stirred = true
	w.slow = 0
	if away := ss.now.Sub(was); away <= multiple(ss.timeout(), 4) {
		w.slow = multiple(away, 2)
	}
	if !f.silent {
		return false
	}
	f.silent = false
	ss.forgive(f)
	ss.queue.reshare()
	ss.ledger.recall(f)
	ss.queue.revisit(f)
	return true
}

// forgive forgets that a framework has refused what it has not read.
func (ss *sessions) forgive(f *member) {
	f.refusals -= f.watch.missed
	f.watch.missed = 0
	f.reclass()
	for _, first := range f.filters {
		for one := first; one != nil; {
			next := one.next
			if one.unread {
				ss.floor.unhide(one)
			}
			one = next
		}
	}
}

// expire is called when a framework may have made no call for long.
func (ss *sessions) expireWatch(w *watch) {
	f := w.of
	if f.accept != nil && f.accept.flying {
		w.heard, w.asked = ss.now, time.Time{} // it is in a call
	}
	expected, ask, gone := ss.expected(f), ss.question(), ss.liveness()
	w.lax = true
	if !expected {
		if f.reg.Notify == nil {
			w.asked = time.Time{} // it can not be asked, and has no reason to call
			return
		}
		ask = gone / 2
	}
	if w.asked.IsZero() {
		if ss.now.Sub(w.heard) < ask {
			w.lax = !expected
			ss.alarm(w, w.heard, ask)
			return
		}
		w.asked = ss.now
		ss.inbox.tell(f) // unless there are news already that it has not read
	}
	waited := ss.now.Sub(w.asked)
	if expected && !w.quiet && waited >= ss.patience(f)-ask {
		w.quiet = true
		ss.quiet = append(ss.quiet, f)
	}
	if waited >= gone-ask && ss.vanish(f) {
		return
	}
	next := multiple(gone-ask, int(waited/(gone-ask))+1) // its tasks may have ended by then
	if expected && !w.quiet {
		next = min(next, ss.patience(f)-ask)
	}
	ss.alarm(w, w.asked, next)
}

// hush has frameworks that are quiet not count any more, unless all that want anything are:
// then they keep nothing from others.
func (ss *sessions) silenceQuiet() {
	ss.stirred = false
	if len(ss.quiet) == 0 {
		return
	}
	ss.quiet = slices.DeleteFunc(ss.quiet, func(f *member) bool { return !f.watch.quiet || f.silent || !f.connected })
	if !slices.ContainsFunc(ss.registry.order, func(f *member) bool { return f.wants() && !f.watch.quiet }) {
		return
	}
	for _, f := range ss.quiet {
		ss.silence(f)
	}
	clear(ss.quiet)
	ss.quiet = ss.quiet[:0]
}

// silence has a framework not count any more: what it was offered is for others, and what
// is gathered for its requests.
func (ss *sessions) silence(f *member) {
	f.silent, ss.queue.unshared = true, true
	for len(f.offers) > 0 {
		ss.ledger.rescind(f.offers[0], fateRescinded)
	}
	if r := ss.gangs.gathering.of; r != nil && r.of == f {
		ss.gangs.scatter(r)
	}
}

// vanish ends a framework that is taken for gone, or has it be away where it says for how
// long its tasks wait. Other tasks run on: that a framework makes no calls is no proof
// that they have stopped. It reports whether the framework is not watched any more.
func (ss *sessions) vanish(f *member) bool {
	switch {
	case f.sched.Usage() == (resources.Vector{}):
		ss.leave(f)
	case f.reg.Failover.set:
		ss.disconnect(f)
	default:
		return false
	}
	f.vanished = true
	return true
}

// comeBack registers a framework anew, as it was, that calls after it was taken for gone.
func (m *Master) comeBack(h *Framework) error {
	f := h.f
	if f.gone && m.registry.members[f.name] != nil {
		return fmt.Errorf("%w: framework %q, which made no call for long: another one has its name", ErrFenced, f.name)
	}
	r := f.reg
	r.Suppressed = f.suppressed
	known := f
	if f.gone {
		if err := m.awaitDeparture(f.name); err != nil {
			return err
		}
		known = nil
	}
	if err := m.sessions.acceptable(known, &r, &resources.Vector{}); err != nil {
		return err
	}
	held, _ := m.usage(r.Account) // acceptable has found the account
	sched := h.sched
	if f.gone {
		var err error
		if sched, err = m.deputy(f.name); err != nil {
			return fault.Newf("offers", fenced(err), "framework %q", f.name)
		}
		f.gone = false
		m.sessions.insert(f, r.Role)
	}
	h.sched = sched
	m.sessions.forgive(f)
	m.sessions.enlist(f, r, sched, nil, held)
	m.replan(planRooms)
	return m.fenced
}

// Evict ends a framework that does not speak for itself any more, whether or not it is
// away, as [Framework.Unregister] would: its offers are rescinded, its tasks released, its
// filters and requests forgotten, and what was asked of it. Room that the tasks had is
// offered to others at once, so see to it first that they have stopped.
//
// It is notified, and all calls of its handle fail with [ErrEvicted]. It does not come back
// by Registration.Failover: one that registers under that name is a new framework, with
// whatever Epoch.
//
// Cost: O(machines + allocations). Errors: [ErrUnregistered] for a name that no framework
// has, [ErrFenced].
func (m *Master) Evict(now time.Time, framework string) error {
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
	f := m.registry.members[framework]
	if f == nil {
		return fmt.Errorf("%w: framework %s, which is to be evicted", ErrUnregistered, fault.Quote(framework))
	}
	f.evicted = true
	m.sessions.leave(f)
	m.replan(planRooms)
	return m.fenced
}
