package offers

import (
	"context"
	"errors"

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

// deputy returns the scheduler of a framework, a new one or a successor to who has
// spoken for it.
func (m *Master) deputy(framework string) (*omega.Scheduler, error) {
	s, err := m.sched.Deputy(m.cfg.Name+"/"+framework, limits())
	m.heed(err)
	return s, err
}

// note notes that a successor has taken over, if an error of the master's own
// scheduler says so.
func (m *Master) note(err error) {
	if err = fenced(err); isFenced(err) && m.fenced == nil {
		m.fenced = err
	}
}

// heed is note for an error of a framework's scheduler: that may have been
// replaced alone.
func (m *Master) heed(err error) {
	if isOver(err) {
		m.superseded()
	}
}

// superseded tells whether a successor has taken over.
func (m *Master) superseded() bool {
	// It names nothing and fails: the error says why.
	m.note(m.sched.Release(omega.AllocationID{}))
	return m.fenced != nil
}

// releaseAll ends the tasks of a framework, and its scheduler.
func (m *Master) releaseAll(f *member) {
	if f.sched == nil { // it never spoke to this master
		s, err := m.deputy(f.name)
		if err != nil {
			return
		}
		f.sched = s
	}
	// A release that has begun takes effect even if a successor takes over
	// meanwhile, and the framework comes back to that. A commit does not: so that
	// takes from tasks all that they have but one unit, before they are released.
	var tasks []omega.Allocation
	attempt := omega.Attempt{Store: omega.Local{Scheduler: f.sched}}
	for a := range f.sched.Allocations() {
		tasks = append(tasks, a)
		attempt.Txn.Resize(a.ID, least(&a.Need))
	}
	if len(tasks) > 0 {
		_, err := attempt.Commit(context.Background(), m.now)
		m.heed(err)
		if err != nil {
			return
		}
	}
	for i, a := range tasks {
		if id, ok := attempt.Txn.Allocation(i); ok {
			a.ID = id
		} else if err := attempt.Txn.Err(i); isOver(err) {
			m.heed(err)
			return
		}
		m.heed(f.sched.Release(a.ID))
		if n := m.nodeOf(a.Machine); n != nil {
			m.freed(n)
		}
	}
	m.departing = append(m.departing, f.sched)
	m.depart()
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

// depart has schedulers of frameworks that have ended leave the cell, so that what
// comes and goes leaves nothing behind. Where somebody has just preempted a task of
// such a one, and has not come to say so, that is seen the next time.
func (m *Master) depart() {
	waiting := m.departing[:0]
	for _, s := range m.departing {
		for mark := range s.Marked() {
			m.heed(s.Release(mark.Allocation.ID))
		}
		err := s.Leave()
		m.heed(err) // or the framework has begun again
		if errors.Is(err, omega.ErrHolding) {
			waiting = append(waiting, s)
		}
	}
	clear(m.departing[len(waiting):])
	m.departing = waiting
}
