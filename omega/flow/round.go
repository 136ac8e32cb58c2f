package flow

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality/quincy"
)

// Round looks at the cell, plans, and commits what the plan changes in one
// transaction, of which what conflicts is left out. What is reported to start and
// to stop is for the caller to do.
//
// The report holds whatever the error. Where ctx is cancelled before there is a
// plan, the error is its cause, and the round does without: it gives back what
// has ended, and claims what was promised before. The same where the planner
// fails; other errors are those of [Config.Arcs], which name the task, and of
// [Config.Store], after which the next round tries anew. Times that go
// back by a unit or more, or to before the first, are [quincy.ErrTime], and nothing
// is done; so it is for a Round while another one is in progress, which is [ErrBusy].
//
// After [omega.ErrOutcome] the next Round asks again what became of the transaction. Once
// there is an outcome, it finishes the round that it was of, and plans nothing.
//
// Cost: the refresh of a snapshot; [quincy.Planner.Plan]; O(changes) and a commit
// of as many claims; and for tasks that wait for machines where they fit,
// O(machines) for each need that they have and O(1) for each of them. Where tasks wait
// in vain, O(tasks). Where the
// cell's scheduler has limits, O(machines) and O(tasks), and where these are short,
// O(tasks × log tasks). It allocates little more than planner and commit do.
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
	at, err := s.units(now)
	if err != nil {
		return Report[T]{}, err
	}
	s.pass(now, at)
	s.report = Report[T]{Start: s.report.Start[:0], Stop: s.report.Stop[:0]}
	s.errs = nil
	clear(s.fits)
	clear(s.able)
	if s.phase == planning {
		s.replanAll(ctx, now)
		s.prepare(now)
	}
	if err := s.commit(ctx, now); err != nil {
		s.errs = append(s.errs, err)
	} else {
		s.stop()
		s.start(now)
	}
	for _, j := range s.jobList {
		s.report.Running += j.planned
	}
	s.report.Waiting = len(s.list) - s.report.Running
	s.report.Beyond = len(s.beyond)
	s.review()
	return s.report, errors.Join(s.errs...)
}

// replanAll looks at the cell, and follows a new plan.
func (s *Scheduler[J, T]) replanAll(ctx context.Context, now time.Time) {
	fresh := s.look(ctx, now)
	s.left, _ = s.cfg.Scheduler.Left()
	s.keep()
	s.admit()
	s.reserve()
	s.seek()
	s.count()
	var changes []quincy.Change[T]
	if fresh {
		changes = s.solve(ctx)
	}
	s.follow(changes)
	s.within(changes)
}

// keep gives back what was promised on machines that have changed and is not to
// be had any more.
func (s *Scheduler[J, T]) keep() {
	for next := 0; next < len(s.dirty); { // it may grow
		m := s.dirty[next]
		next++
		s.check(m, false)
	}
}

// seek asks for the arcs of those who wait for a machine where they fit. Who needs
// no more than a slot may go anywhere again if it has had a round of that,
// something has changed since, and there is a machine that is large enough: who fits
// none would only be sent, each time, to where others do.
func (s *Scheduler[J, T]) seek() {
	for _, m := range s.hinted {
		m.hint = false
		s.touch(m)
	}
	s.hinted = s.hinted[:0]
	for i := len(s.fitters) - 1; i >= 0; i-- {
		tk := s.fitters[i]
		if tk.exact && tk.small && tk.sought && tk.stirs != s.stirs && s.could(&tk.want.Need) {
			tk.exact = false
			s.unlist(tk)
		}
		tk.sought = true
		s.ask(tk)
	}
}

// solve returns what the plan changes. Lower shares that cannot be met are given
// up step by step.
func (s *Scheduler[J, T]) solve(ctx context.Context) []quincy.Change[T] {
	level := math.MaxInt
	steps := []func(j *job[J]) int{
		func(*job[J]) int { return level },
		func(*job[J]) int { return level },
		func(j *job[J]) int { return j.planned },
	}
	var plan quincy.Plan[T]
	var err error
	for i, most := range steps {
		if i == 1 {
			level = s.level()
		}
		s.share(most)
		if plan, err = s.planner.Plan(ctx, s.now); !errors.Is(err, quincy.ErrInfeasible) {
			break
		}
	}
	if err != nil {
		s.errs = append(s.errs, fault.New("flow", "", err))
	}
	return plan.Changes
}
