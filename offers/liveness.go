package offers

import (
	"slices"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// silenceAfter returns the time without a call after which a framework is quiet.
func (ss *sessions) silenceAfter(f *member) time.Duration {
	if f.watch.slow > 0 {
		return f.watch.slow
	}
	return multiple(ss.timeout(), 2)
}

// expected reports whether a framework has a reason to call: it waits for offers or for
// answers.
func (ss *sessions) expected(f *member) bool {
	return !f.suppressed || slices.ContainsFunc(ss.registry.requests, func(r *request) bool { return r.of == f })
}

// noteCall notes that a framework has called, and reports whether it was silent. A framework
// that was silent is offered the room that there is, as if it had just come.
func (ss *sessions) noteCall(f *member) (back bool) {
	w := &f.watch
	was, quiet := w.heard, w.quiet
	w.heard, w.asked, w.quiet = ss.now, time.Time{}, false
	if w.lax {
		w.lax = false
		ss.alarm(w, ss.now, ss.askAfter())
	}
	if !f.silent {
		w.missed = 0
	}
	if !quiet {
		return false
	}
	ss.called = true
	w.slow = 0
	if away := ss.now.Sub(was); away <= multiple(ss.timeout(), 4) {
		w.slow = multiple(away, 2)
	}
	if !f.silent {
		return false
	}
	f.silent = false
	ss.forgetUnread(f)
	ss.queue.reshare()
	ss.ledger.rescindUnread(f)
	ss.queue.revisit(f)
	return true
}

// forgetUnread forgets the refusals of offers that a framework has not read.
func (ss *sessions) forgetUnread(f *member) {
	f.refusals -= f.watch.missed
	f.watch.missed = 0
	f.updateClass()
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

// expireWatch is called when a framework may have made no call for long.
func (ss *sessions) expireWatch(w *watch) {
	f := w.of
	if f.accept != nil && f.accept.flying {
		w.heard, w.asked = ss.now, time.Time{} // it is in a call
	}
	expected, ask, gone := ss.expected(f), ss.askAfter(), ss.liveness()
	w.lax = true
	if !expected {
		if f.reg.Notify == nil {
			w.asked = time.Time{} // it cannot be asked, and has no reason to call
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
	if expected && !w.quiet && waited >= ss.silenceAfter(f)-ask {
		w.quiet = true
		ss.quiet = append(ss.quiet, f)
	}
	if waited >= gone-ask && ss.vanish(f) {
		return
	}
	next := multiple(gone-ask, int(waited/(gone-ask))+1) // its tasks may have ended by then
	if expected && !w.quiet {
		next = min(next, ss.silenceAfter(f)-ask)
	}
	ss.alarm(w, w.asked, next)
}

// silenceQuiet has quiet frameworks not count any more. If all frameworks that want
// offers are quiet it does nothing: they keep nothing from others then.
func (ss *sessions) silenceQuiet() {
	ss.called = false
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

// silence has a framework not count any more: its offers, and the reservation of its
// request, are for others.
func (ss *sessions) silence(f *member) {
	f.silent, ss.queue.unshared = true, true
	for len(f.offers) > 0 {
		ss.ledger.rescind(f.offers[0], fateRescinded)
	}
	if r := ss.gangs.room.of; r != nil && r.of == f {
		ss.gangs.endReservation(r)
	}
}

// vanish ends a framework that counts as gone. If its registration sets Failover, it is
// away instead, and its tasks wait for that long. Other tasks run on: the lack of calls
// is no proof that they have stopped. It reports whether the framework is not watched any
// more.
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
