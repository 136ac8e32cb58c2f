package loop

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// attempt is the one attempt that a loop has in progress.
type attempt[K any] struct {
	p             *Pending[K] // nil if there is none
	phase         phase
	snap          *omega.Snapshot
	tasks         int           // to be placed
	began         time.Time     // refreshed and placed
	asked         bool          // the outcome was unknown before
	found         Search[K]     // the arguments and results of the Place
	at            time.Time     // to be committed, or asked about again
	reserves      bool          // it is for a reservation, and claims nothing
	ended, useful bool          // whether the last step ended one
	took          time.Duration // of the one that it ended
}

// phase is the progress of an attempt, from which the step after a panic goes on.
type phase uint8

const (
	placing    phase = iota // in the caller's Place or Think
	thinking                // nothing was sent
	committing              // something may have been granted
)

// outcome is the result of an attempt.
type outcome struct {
	omega.Outcome
	committed bool
	passed    bool // room was passed up
}

// begin takes the next job and places it, and returns false if there is none.
func (l *Loop[K]) begin(ctx context.Context, now time.Time) (bool, error) {
	p, snap, err := l.next(ctx, now)
	if p == nil {
		return false, err
	}
	l.move(p, deciding)
	l.attempt = attempt[K]{p: p, snap: snap, tasks: p.ask(), began: now, at: now}
	l.meter.began(p.attempts == 0, now.Sub(p.submitted))
	p.attempts++

	l.engine.Txn.Detect = l.cfg.Detect
	search := &l.attempt.found
	*search = Search[K]{Now: now, Snapshot: snap, Job: &p.job, Tasks: l.attempt.tasks, Txn: &l.engine.Txn, pending: p}
	if !l.turn(p) {
		l.cfg.Place(search)
		l.reserve(p, now)
	}
	l.engine.Txn.Gang = p.job.Gang
	if l.cfg.Think != nil {
		l.attempt.at = now.Add(max(0, l.cfg.Think(&p.job, l.attempt.tasks)))
	}
	l.attempt.phase = thinking
	return true, nil
}

// finish commits the attempt, or asks again for the outcome.
func (l *Loop[K]) finish(ctx context.Context, now time.Time) error {
	a, p := &l.attempt, l.attempt.p
	switch n := l.engine.Txn.Len(); {
	case n > a.tasks:
		l.over(now, false)
		l.end(p, Abandoned, now, fmt.Errorf("%w: %d of %d", ErrPlace, n, a.tasks))
		return nil
	case a.reserves:
	case n == 0 || p.job.Gang && n < a.tasks:
		l.settle(now, &outcome{passed: a.found.passed})
		return nil
	}
	a.phase = committing
	asked := l.engine.Doubt() > 0
	_, err := l.engine.Commit(ctx, now)
	doubt := l.engine.Doubt()
	switch {
	case err == nil:
		a.asked = asked
		l.reserved(p)
		l.settle(now, &outcome{l.engine.Outcome(), !a.reserves, a.found.passed})
		return nil
	case errors.Is(err, omega.ErrOutcome) && errors.Is(err, omega.ErrJournal):
		return err // no later answer is another one
	case errors.Is(err, omega.ErrOutcome):
		a.at = now.Add(l.backoff.After(doubt))
		l.emit(Event[K]{Kind: InDoubt, At: now, Pending: p, Until: a.at, Err: err})
		return nil
	case doubt > 0:
		return err // the store gave up before it asked
	case isJobs(err):
		l.over(now, false)
		l.end(p, Abandoned, now, err)
		return nil
	}
	l.over(now, false)
	p.attempts--
	if !l.withdrawn(p, now) {
		l.enqueue(p)
	}
	return err
}

// isJobs reports whether an error of a commit as a whole is about the job: its
// transaction would be refused every time.
func isJobs(err error) bool {
	for _, one := range []error{
		omega.ErrUnknown, omega.ErrForbidden, omega.ErrLimit, omega.ErrTxn, resources.ErrQuantity,
	} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// settle ends an attempt and moves its job on.
func (l *Loop[K]) settle(now time.Time, o *outcome) {
	p, n := l.attempt.p, len(o.Granted)
	if l.settler != nil {
		l.settler.settled(p, l.engine.Txn.Len(), o)
	}
	first := p.placed == 0 && n > 0
	p.placed += n
	l.meter.settled(o, first, p.Left() == 0, now.Sub(p.submitted))
	if l.marker != nil && n > 0 {
		l.ledger.add(p, o.Granted, l.marker.Holds)
		if l.attempt.asked {
			l.ask(recheckMarks) // it may have been marked before its outcome was known
		}
	}
	turn, until := l.attempt.tasks, l.attempt.found.until
	tasks := p.near.settle(now, o.Granted)
	l.over(now, n > 0 && !o.Conflict)
	if n > 0 {
		p.fruitless, p.passes, p.since, p.tried, p.short = 0, 0, now, nil, 0
		l.unreserve(p)
		l.emit(Event[K]{Kind: Placed, At: now, Pending: p, Allocations: o.Granted, Tasks: tasks})
	}
	if p.Left() == 0 {
		l.end(p, Complete, now, nil)
		return
	}
	if o.Final != nil {
		if l.withdrawn(p, now) {
			return
		}
		l.end(p, Abandoned, now, o.Final)
		return
	}
	p.searching = o.Why == nil
	switch {
	case n == turn:
		p.idle++
		if !l.withdrawn(p, now) {
			l.enqueue(p) // the rest waits for another turn
		}
		return
	case o.passed && p.searching:
		l.passUp(p, now, until)
		return
	case n == 0:
		p.fruitless++
	}
	if p.last = o.Why; p.searching {
		p.last = l.roomError(p)
	}
	l.again(p, now)
}

// passUp has a job wait after its Place has passed up room: until the time that the Place
// has said, or for a back-off.
func (l *Loop[K]) passUp(p *Pending[K], now, until time.Time) {
	if l.withdrawn(p, now) {
		return
	}
	p.passes++
	p.idle++
	p.last = nil
	if !until.After(now) {
		until = now.Add(l.backoff.After(p.passes))
	}
	l.wait(p, PassedUp, now, until)
}

// wait has a job wait for its next attempt.
func (l *Loop[K]) wait(p *Pending[K], kind Kind, now, until time.Time) {
	l.move(p, waiting)
	l.backoffs.set(p, until)
	l.emit(Event[K]{Kind: kind, At: now, Pending: p, Until: until, Err: p.last})
}

// roomError says that there was not enough room for the attempt. The fate of each machine
// costs O(machines): it is told of a job's failures number 1, 2, 4, 8 and so on.
func (l *Loop[K]) roomError(p *Pending[K]) error {
	e := &omega.RefusalError{
		Reason: omega.ErrNoRoom, Need: p.job.Need, Space: l.attempt.snap.Space(), Tasks: l.attempt.tasks, Found: l.engine.Txn.Len(),
	}
	if bits.OnesCount(uint(p.fruitless)) == 1 {
		why := l.attempt.snap.Explain(p.job.Query())
		l.machines.update(l.attempt.snap)
		if e.Why = &why; !l.possible(p, &why) {
			e.Reason = omega.ErrNeverFits
		}
	}
	return e
}

// again finds a later time, or an end, for a job after a failed attempt.
func (l *Loop[K]) again(p *Pending[K], now time.Time) {
	used := func(n, limit int) bool { return limit > 0 && n >= limit }
	switch {
	case l.withdrawn(p, now):
	case errors.Is(p.last, omega.ErrNeverFits):
		l.park(p, now)
	case used(p.attempts-p.idle, l.cfg.Attempts) || p.placed == 0 && used(p.attempts-p.idle, l.cfg.Fruitless):
		l.end(p, Abandoned, now, fault.New("loop", fmt.Sprintf("%d attempts are used up: last", p.attempts), p.last, ErrAttempts))
	default:
		l.wait(p, BackedOff, now, now.Add(l.backoff.After(p.fruitless)))
	}
}

// withdrawn ends a job that was cancelled or has expired during its attempt.
func (l *Loop[K]) withdrawn(p *Pending[K], now time.Time) bool {
	switch d := p.job.Deadline; {
	case p.cancelled:
		l.end(p, Cancelled, now, nil)
	case !d.IsZero() && !now.Before(d):
		l.end(p, Expired, now, nil)
	default:
		return false
	}
	return true
}

// over ends the attempt, and counts its time as useful or as wasted.
func (l *Loop[K]) over(now time.Time, useful bool) {
	a := &l.attempt
	took := now.Sub(a.began)
	l.meter.spent(took, useful)
	if !l.running {
		l.meter.took(took) // live adds the time of the whole step
	}
	*a = attempt[K]{snap: a.snap, tasks: a.tasks, ended: true, useful: useful, took: took}
}

// drop drops the attempt unless something of it was sent.
func (l *Loop[K]) drop(now time.Time) bool {
	if l.attempt.phase == committing {
		return false
	}
	l.over(now, false)
	return true
}

// interrupted ends an attempt after a panic in its Place or Think. It counts as one that
// placed nothing.
func (l *Loop[K]) interrupted(now time.Time) {
	if p := l.attempt.p; p != nil && l.attempt.phase == placing {
		l.over(now, false)
		p.fruitless++
		p.searching, p.last = false, ErrInterrupted
		l.again(p, now)
	}
}
