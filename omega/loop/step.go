package loop

import (
	"context"
	"slices"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Step advances the loop to now: it accepts submissions and cancellations, ends
// expired jobs, and then begins or finishes one attempt.
//
// It returns when to call it next, now for at once, and false if nothing but
// a Submit, Cancel or Recheck can give it something to do. Calling it earlier
// or later is allowed; now must not go backwards. Of
// two steps at a time the second fails with [ErrBusy], a step of Run included.
//
// Other errors are the store's, and about the store: the job is in the order again,
// nothing of the attempt was committed, and the next Step tries anew. A superseded
// scheduler stays so: [omega.ErrSuperseded].
//
// [omega.ErrOutcome] is not returned. It becomes an [InDoubt] event, and the loop asks for
// the outcome again after a back-off, until the store knows it. Meanwhile it begins no
// other attempt. A job that is cancelled or expires ends after that. An ErrOutcome that wraps
// [omega.ErrJournal] is returned, by each later Step too: the outcome is never known.
//
// Cost, without the callbacks: a refresh, a search, a commit and O(log jobs). Only
// the slices of a Placed event, and little more, are allocated.
func (l *Loop[K]) Step(ctx context.Context, now time.Time) (next time.Time, ok bool, err error) {
	if l.none() {
		return time.Time{}, false, absent("receiver")
	}
	if !l.stepping.CompareAndSwap(false, true) {
		return time.Time{}, false, ErrBusy
	}
	defer l.stepping.Store(false)
	l.handing = nil
	l.meter.tick(now)
	next, ok, err = l.step(ctx, now)
	l.deliver()
	if l.unread() {
		next, ok = now, true // by the hook, or by others meanwhile
	}
	return next, ok, err
}

func (l *Loop[K]) step(ctx context.Context, now time.Time) (next time.Time, ok bool, err error) {
	l.attempt.ended = false
	if l.advancer != nil {
		l.advancer.Advance(now)
	}
	what := l.receive(now)
	if what&recheckMarks != 0 || !l.watched.Load() {
		l.tellMarks(now)
	}
	what &^= recheckMarks
	l.interrupted(now)
	for p := l.deadlines.due(now); p != nil; p = l.deadlines.due(now) {
		if p.state != deciding { // else the attempt is finished first
			l.end(p, Expired, now, nil)
		}
	}
	for p := l.backoffs.due(now); p != nil; p = l.backoffs.due(now) {
		if p.early {
			p.early = false // it is in the order already
		} else {
			l.enqueue(p)
		}
	}
	if l.attempt.p == nil {
		if until, ok, err := l.withdraw(ctx, now); !ok {
			l.ask(what)
			return until, err == nil, err
		}
		if what != 0 || len(l.parked) > 0 && !now.Before(l.recheckAt) {
			if err := l.recheckJobs(ctx, now, what); err != nil {
				l.ask(what)
				return time.Time{}, false, err
			}
		}
		l.held = false
		began, err := l.begin(ctx, now)
		if err != nil || !began {
			l.hold(now)
			next, ok = l.alarm()
			return next, ok, err
		}
	} else {
		l.ask(what)
	}
	if now.Before(l.attempt.at) {
		next = l.attempt.at
		if d, set := l.deadlines.first(); set && d.Before(next) {
			next = d
		}
		return next, true, nil
	}
	return now, true, l.finish(ctx, now)
}

// alarm returns the first time at which there will be something to do.
func (l *Loop[K]) alarm() (at time.Time, ok bool) {
	at, ok = l.backoffs.first()
	if d, set := l.deadlines.first(); set && (!ok || d.Before(at)) {
		at, ok = d, true
	}
	if len(l.parked) > 0 && (!ok || l.recheckAt.Before(at)) {
		at, ok = l.recheckAt, true
	}
	if l.held && (!ok || l.heldUntil.Before(at)) {
		at, ok = l.heldUntil, true
	}
	return at, ok
}

// receive takes in the messages and returns what was asked to be looked at.
func (l *Loop[K]) receive(now time.Time) (what recheck) {
	l.drain(now) // what a panic of the order has left
	l.mu.Lock()
	l.inbox, l.read = l.read[:0], l.inbox
	what, l.recheck = l.recheck, 0
	l.mu.Unlock()
	l.taken = 0
	l.drain(now)
	return what
}

func (l *Loop[K]) drain(now time.Time) {
	for l.taken < len(l.read) {
		m := l.read[l.taken]
		l.read[l.taken] = message[K]{}
		l.taken++
		if m.cancel {
			l.cancel(m.p, now)
			continue
		}
		if l.holder != nil {
			l.kinds = l.kinds.Max(m.p.job.Need.Min(resources.Uniform(1)))
		}
		l.emit(Event[K]{Kind: Submitted, At: m.p.submitted, Pending: m.p})
		if !m.p.job.Deadline.IsZero() {
			l.deadlines.set(m.p, m.p.job.Deadline)
		}
		l.enqueue(m.p)
	}
}

// tellMarks reports allocations that were preempted or lost, each once. Cost: O(marks
// that stand).
func (l *Loop[K]) tellMarks(now time.Time) {
	if l.marker == nil || l.ledger.len() == 0 {
		return
	}
	for mark := range l.marker.Marked() {
		if p := l.ledger.take(mark.Allocation.ID); p != nil {
			l.meter.preempted(mark.Fate)
			l.emit(Event[K]{Kind: Preempted, At: now, Pending: p, Until: mark.Until, Mark: &mark})
		}
	}
}

// ask makes the next step that can look at what is given.
func (l *Loop[K]) ask(what recheck) {
	if what != 0 {
		l.mu.Lock()
		l.recheck |= what
		l.mu.Unlock()
	}
}

// unread reports whether a message has come in.
func (l *Loop[K]) unread() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.inbox) > 0
}

func (l *Loop[K]) cancel(p *Pending[K], now time.Time) {
	switch {
	case p.state == ended:
	case p.state == deciding && !l.drop(now):
		p.cancelled = true // its commit may have been applied
	default:
		l.end(p, Cancelled, now, nil)
	}
}

// enqueue puts a job in the order.
func (l *Loop[K]) enqueue(p *Pending[K]) {
	p.ration = 0
	l.move(p, queued)
	l.cfg.Order.Push(p)
}

func (l *Loop[K]) move(p *Pending[K], to state) {
	l.meter.moved(p.state, to)
	from := p.state
	if p.state = to; l.mover != nil {
		l.mover.moved(p, from, to)
	}
}

// end ends a job for good.
func (l *Loop[K]) end(p *Pending[K], kind Kind, now time.Time, why error) {
	if p.state == parked {
		l.parked = slices.DeleteFunc(l.parked, func(q *Pending[K]) bool { return p == q })
	}
	l.backoffs.unset(p)
	l.deadlines.unset(p)
	l.move(p, ended)
	l.unreserve(p)
	p.near = nil
	l.meter.ended(kind)
	l.mu.Lock()
	l.pending--
	l.mu.Unlock()
	l.emit(Event[K]{Kind: kind, At: now, Pending: p, Err: why})
}

// emit puts an event in line. It is handed over once the state is in order, so
// that a hook that panics does no harm.
func (l *Loop[K]) emit(e Event[K]) {
	if l.cfg.Events.Active() {
		l.tell(&e)
	}
	if l.cfg.Observe != nil {
		e.Left, e.Attempts = e.Pending.Left(), e.Pending.attempts
		l.events = append(l.events, e)
	}
}

// deliver hands over the events. An event counts as handed over if its hook panics; those
// behind it are the next step's.
func (l *Loop[K]) deliver() {
	for l.sent < len(l.events) {
		l.handing = &l.events[l.sent]
		l.sent++
		l.cfg.Observe(*l.handing)
		*l.handing = Event[K]{}
	}
	l.handing, l.events, l.sent = nil, l.events[:0], 0
}
