package delay

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/cellsched/cellsched/locality"
)

// Line gives free nodes to jobs in whatever order the caller has them: by
// dominant share, by pool, by running tasks. For first come, first served,
// [Queue] need not look at each job.
//
// The zero Line is ready to use. It is not safe for concurrent use. It keeps
// pointers to jobs that age: do not copy those, offer them nodes by no other way,
// and pause one that has no pending task for a while.
type Line struct {
	round  uint64
	last   time.Time // of the last offer
	ageing []*Job    // those that have passed up the last offer
	before []*Job    // room for the next such list
}

// Offer gives a free node to the first job of the order that takes it, and
// returns that one, nil if all would rather wait. The order has each job with
// pending tasks once, with the level of its nearest one for the node; it is
// walked no farther than to the one that launches.
//
// Those before it have passed the node up and age until the next offer, and are
// told that it was taken ([Job.Taken]); those behind it do not age. Cost: O(jobs
// walked), now and in the offer before.
//
// It fails with [ErrTime] if that is before an earlier offer; then nothing has
// changed. It also fails for a job that is nil, that comes twice, or that was
// offered a node later by other means; then nobody has launched, and those before
// it have passed the node up. EuroSys 2010, Algorithms 2 and 3.
func (l *Line) Offer(now time.Time, order iter.Seq2[*Job, locality.Level]) (*Job, error) {
	if l.round > 0 && now.Before(l.last) {
		return nil, fmt.Errorf("delay: offer at %v: the last one was at %v: %w", now, l.last, ErrTime)
	}
	since := time.Duration(0)
	if l.round > 0 {
		since = now.Sub(l.last)
	}
	l.last = now
	l.round++
	l.ageing, l.before = l.before[:0], l.ageing
	taker, err := l.walk(now, since, order)
	for i, j := range l.before {
		if j.round != l.round { // not reached: it has aged up to now
			err = errors.Join(err, j.Pause(now))
		}
		l.before[i] = nil
	}
	return taker, err
}

// walk offers the node to one job after the other.
func (l *Line) walk(now time.Time, since time.Duration, order iter.Seq2[*Job, locality.Level]) (*Job, error) {
	for j, level := range order {
		switch {
		case j == nil:
			return nil, fmt.Errorf("delay: offer at %v: a nil job in the order, want jobs", now)
		case j.round == l.round:
			return nil, fmt.Errorf("delay: offer at %v: a job twice in the order, want each once: %w", now, ErrJob)
		}
		waited := j.waiting
		if _, err := j.advance("offer", now); err != nil {
			return nil, err
		}
		decision := j.decide(level, waited, since)
		j.round = l.round
		if decision.Launch {
			for _, passed := range l.ageing {
				passed.Taken()
			}
		}
		if j.waiting {
			l.ageing = append(l.ageing, j)
		}
		if decision.Launch {
			return j, nil
		}
	}
	return nil, nil
}
