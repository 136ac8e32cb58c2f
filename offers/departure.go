package offers

import (
	"errors"
	"slices"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// departs reports whether tasks of a framework that has ended are not released yet.
func (ss *sessions) departs(framework string) bool {
	return slices.ContainsFunc(ss.departing, func(d *departure) bool { return !d.ended && d.of.name == framework })
}

// inherit has a scheduler that was made for a framework of that name have the tasks of one that
// has ended.
func (ss *sessions) inherit(framework string, sched *omega.Scheduler) {
	for _, d := range ss.departing {
		if !d.ended && d.of.name == framework {
			d.sched = sched
		}
	}
}

// release ends the tasks of a departure, unless an outcome is in doubt. An accept of the
// framework that has no outcome yet comes first.
func (ss *sessions) release(d *departure) {
	f := d.of
	if a := f.accept; a != nil && !a.flying {
		_, _ = ss.accepts.fly(ss.planner.context(), a, a.launches) // the outcome is for the framework
		ss.planner.later(planRooms)
		ss.ledger.discharge()
	}
	if f.accept != nil {
		return
	}
	if d.sched == nil {
		s, err := ss.deputy(f.name)
		if err != nil {
			// Else it is the journal's: the next Step asks for the scheduler again.
			if d.ended = !ss.journaled || isOver(err) || errors.Is(err, omega.ErrName) || errors.Is(err, omega.ErrTooMany); !d.ended {
				ss.planner.fail(err)
			}
			return
		}
		d.sched = s
	}
	// A release that has begun takes effect even if a successor takes over
	// meanwhile, and the framework comes back to that. A commit does not: so that
	// takes from tasks all that they have but one unit, before they are released.
	if d.attempt.Store == nil {
		d.attempt.Store = ss.storeOf(d.sched)
		for a := range d.sched.Allocations() {
			d.tasks = append(d.tasks, a)
			d.attempt.Txn.Resize(a.ID, oneUnit(&a.Need))
		}
	}
	if len(d.tasks) > 0 {
		_, err := ss.planner.commit(ss.planner.context(), &d.attempt, ss.now)
		ss.checkFenced(err)
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
			ss.checkFenced(err)
			return
		}
		ss.checkFenced(ss.client.release(d.sched, a.ID))
		if n := ss.floor.nodeOf(a.Machine); n != nil {
			ss.floor.freed(n)
		}
	}
}

// oneUnit returns the smallest need within one that is not zero: a unit of its first
// kind.
func oneUnit(need *resources.Vector) (one resources.Vector) {
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

// depart has schedulers of frameworks that have ended leave the cell, so that frameworks
// that come and go leave nothing behind. If another scheduler has just preempted a task
// of such a framework, and has not marked it yet, that is seen the next time.
func (ss *sessions) depart() {
	if len(ss.departing) == 0 {
		return
	}
	done, err := ss.alone(ss.planner.context())
	if err != nil {
		ss.planner.fail(err)
		return
	}
	defer done()
	for _, d := range slices.Clone(ss.departing) {
		if !d.ended && !ss.planner.halted() {
			ss.release(d)
		}
	}
	gone := map[*departure]bool{}
	for _, d := range slices.Clone(ss.departing) {
		s := d.sched
		if !d.ended || s == nil {
			gone[d] = d.ended
			continue
		}
		for mark := range s.Marked() {
			ss.checkFenced(ss.client.release(s, mark.Allocation.ID))
		}
		var err error
		ss.free(func() { err = s.Leave() })
		ss.checkFenced(err) // or the framework has begun again
		gone[d] = !errors.Is(err, omega.ErrHolding) && !errors.Is(err, omega.ErrBusy)
	}
	ss.departing = slices.DeleteFunc(ss.departing, func(d *departure) bool { return gone[d] })
}
