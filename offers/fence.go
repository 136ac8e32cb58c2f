package offers

import (
	"errors"
	"slices"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A master that was replaced may not have noticed, or be in the middle of a call,
// and goes on. What it then does to the cell is either refused there, in the same
// step in which it would happen, or does no harm:
//
//	it                                      after a successor has taken over
//	claims room for offers (claim, grant),  is refused: a commit of its own scheduler
//	  and preempts for a guarantee
//	turns offers into tasks (Accept),       is refused: a commit of a deputy of its own, also
//	  kept or optimistic                    for offers without a claim that could be gone
//	takes or makes the scheduler of a       is refused: see omega.Scheduler.Deputy
//	  framework (Register, leave)
//	ends tasks of a framework that has      is refused: a commit of a deputy takes from them
//	  ended or not come back (leave)        all that they have; what is left is of nothing
//	has a framework's scheduler leave       is refused: see omega.Scheduler.Leave
//	releases claims of offers (rescind,     may take effect late: its successor releases them,
//	  pick), acknowledges their loss        too, whoever is first
//	releases tasks, or acknowledges their   may take effect late, if it had begun: they have
//	  loss, for who runs them (Release)     stopped, whoever the master is
//	acknowledges the loss of tasks of a     may take effect late, if it had begun: they have
//	  framework that has ended (leave)      lost their room already
//	names an account (Register)             does what anybody may do at any time
//
// Nothing else that it does, on time or asked to, reaches the cell: filters, terms,
// notices of revocation, inverse offers and requests are in its own memory, or in
// the news of frameworks that are with it.

// departure is a framework that has ended, whose tasks are to be released and whose
// scheduler is to leave the cell.
type departure struct {
	of      *member
	account omega.Account
	attempt omega.Attempt
	tasks   []omega.Allocation
	ended   bool // its tasks are released
}

// departs reports whether tasks of a framework that has ended are not released yet.
func (ss *sessions) departs(framework string) bool {
	return slices.ContainsFunc(ss.departing, func(d *departure) bool { return !d.ended && d.of.name == framework })
}

// release ends the tasks of a departure, unless an outcome is in doubt. What the framework
// has accepted, and has no outcome yet, comes first.
func (ss *sessions) release(d *departure) {
	f := d.of
	if a := f.accept; a != nil && !a.flying {
		_, _ = ss.accepts.fly(ss.planner.context(), a, a.launches) // the outcome is for the framework
		ss.planner.later(rooms)
		ss.ledger.discharge()
	}
	if f.accept != nil {
		return
	}
	if f.sched == nil { // it never spoke to this master
		s, err := ss.deputy(f.name)
		if err != nil {
			d.ended = true
			return
		}
		f.sched = s
	}
	// A release that has begun takes effect even if a successor takes over
	// meanwhile, and the framework comes back to that. A commit does not: so that
	// takes from tasks all that they have but one unit, before they are released.
	if d.attempt.Store == nil {
		d.attempt.Store = ss.storeOf(f.sched)
		for a := range f.sched.Allocations() {
			d.tasks = append(d.tasks, a)
			d.attempt.Txn.Resize(a.ID, least(&a.Need))
		}
	}
	if len(d.tasks) > 0 {
		_, err := ss.planner.commit(ss.planner.context(), &d.attempt, ss.now)
		ss.heed(err)
		if d.attempt.Doubt() > 0 {
			ss.planner.fail(err)
			return
		}
		if err != nil {
			d.ended = isOver(err)
			d.attempt, d.tasks = omega.Attempt{}, nil
			if !d.ended {
				ss.planner.fail(err)
			}
			return
		}
	}
	d.ended = true
	defer ss.queue.rechargeAll(d.account)
	for i, a := range d.tasks {
		if id, ok := d.attempt.Txn.Allocation(i); ok {
			a.ID = id
		} else if err := d.attempt.Txn.Err(i); isOver(err) {
			ss.heed(err)
			return
		}
		ss.heed(f.sched.Release(a.ID))
		if n := ss.floor.nodeOf(a.Machine); n != nil {
			ss.floor.freed(n)
		}
	}
}

// least returns the smallest need within one that is not zero: a unit of its first
// kind.
func least(need *resources.Vector) (one resources.Vector) {
	for k, q := range need {
		if q > 0 {
			one[k] = 1
			break
		}
	}
	return one
}

// releaseDeparted is depart if tasks are to be released.
func (ss *sessions) releaseDeparted() {
	if slices.ContainsFunc(ss.departing, func(d *departure) bool { return !d.ended }) {
		ss.depart()
	}
}

// depart has schedulers of frameworks that have ended leave the cell, so that what
// comes and goes leaves nothing behind. Where another scheduler has just preempted a task of
// such a one, and has not come to say so, that is seen the next time.
func (ss *sessions) depart() {
	for _, d := range slices.Clone(ss.departing) {
		if !d.ended && !ss.planner.halted() {
			ss.release(d)
		}
	}
	ss.departing = slices.DeleteFunc(ss.departing, func(d *departure) bool {
		if !d.ended || d.of.sched == nil {
			return d.ended
		}
		for mark := range d.of.sched.Marked() {
			ss.heed(d.of.sched.Release(mark.Allocation.ID))
		}
		err := d.of.sched.Leave()
		ss.heed(err) // or the framework has begun again
		return !errors.Is(err, omega.ErrHolding) && !errors.Is(err, omega.ErrBusy)
	})
}
