package flow

import (
	"context"
	"errors"
	"time"

	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega/observe"
)

// Round refreshes the snapshot, plans, and commits the changes of the plan in one
// transaction, without the claims that conflict. The caller starts and stops the tasks
// that the report names.
//
// The report holds whatever the error:
//
//   - If ctx is cancelled before there is a plan, the error is its cause, and the round
//     does without a plan. It releases ended allocations and claims promised room. The
//     same holds if the planner fails.
//   - Errors of [Config.Arcs] name the task. After errors of [Config.Store] the next
//     round tries anew.
//   - [quincy.ErrTime]: the time goes back by a unit or more, or to before the first.
//     Nothing is done.
//   - [ErrBusy]: another Round is in progress. Nothing is done.
//   - [omega.ErrOutcome]: the next Round asks again for the outcome of the transaction.
//     Once there is an outcome, it finishes that round, and plans nothing.
//
// Cost: the refresh of a snapshot; [quincy.Planner.Plan]; O(changes) and a commit of as
// many claims. Beyond that:
//
//   - for tasks that wait for machines where they fit, O(machines) for each of their
//     needs and O(1) for each task;
//   - where tasks cannot run in the cell as it is, O(tasks);
//   - where the cell's scheduler has limits, O(machines) and O(tasks);
//   - where these bind, O(tasks × log tasks).
//
// It allocates little more than planner and commit do.
func (s *Scheduler[J, T]) Round(ctx context.Context, now time.Time) (Report[T], error) {
	if s.none() {
		return Report[T]{}, absent("scheduler")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rounding {
		return Report[T]{}, ErrBusy
	}
	s.rounding = true
	defer func() { s.rounding = false }()
	at, err := s.clock.units(now)
	if err != nil {
		return Report[T]{}, err
	}
	s.clock.pass(now, at)
	began := time.Now()
	s.begin()
	if s.exchange.phase == planning {
		seen := s.watch.look(ctx, now)
		s.promises.recheckDirty()
		s.admission.admit(seen.left)
		s.reserver.reserve()
		plan := s.solve(ctx, seen)
		s.promises.follow(plan)
		s.admission.within(plan)
		s.exchange.prepare(now)
	}
	if err := s.exchange.commit(ctx, now); err != nil {
		s.round.fail(err)
	} else {
		s.promises.stop()
		s.exchange.start(now)
	}
	report, err := s.end()
	s.count(&report, now, time.Since(began))
	return report, err
}

// begin forgets the round before.
func (s *Scheduler[J, T]) begin() {
	s.round.refused = observe.Counts{}
	s.round.conflicts = nil
	s.round.report = Report[T]{Start: s.round.report.Start[:0], Stop: s.round.report.Stop[:0]}
	s.round.errs = nil
	s.fleet.forgetRoom()
}

// solve returns the changes of a new plan, none if the cell could not be read.
func (s *Scheduler[J, T]) solve(ctx context.Context, seen sight) (changes []quincy.Change[T]) {
	s.arcs.retarget()
	s.book.count()
	if seen.fresh {
		changes = s.book.solve(ctx)
	}
	return changes
}

// end returns the report of the round.
func (s *Scheduler[J, T]) end() (Report[T], error) {
	r := &s.round.report
	for _, j := range s.book.jobList {
		r.Running += j.planned
	}
	r.Waiting = len(s.book.list) - r.Running
	r.Beyond = len(s.fleet.beyond)
	s.review()
	return *r, errors.Join(s.round.errs...)
}
