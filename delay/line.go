package delay

import (
	"errors"
	"iter"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Line gives free nodes to jobs in the caller's order: by dominant share, by pool,
// by running tasks. For first come, first served, [Queue] need not look at each
// job.
//
// The zero Line is ready to use. It is not safe for concurrent use: a call during
// another one fails with [ErrConcurrent]. It must not be copied. It keeps pointers
// to jobs that age. Do not copy these jobs, offer them nodes through the Line only,
// and pause a job that has no pending task for a while.
type Line struct {
	use    use
	round  uint64
	tally  tally
	window time.Duration // the longest waits of a job that was met
	last   time.Time     // of the last offer
	ageing []*Job        // jobs that have passed up the last offer
	before []*Job        // room for the next such list
}

// Offer gives a free node to the first job of the order that takes it. It returns
// that job, or nil if all would rather wait.
//
// The order yields each job with pending tasks once, with the level of its nearest
// task for the node. It is walked up to the job that launches.
//
// Jobs before that one have passed the node up and age until the next offer. Jobs
// behind it do not age, unless they did before and many slots idle: the Line
// estimates that from the offers without a taker. Cost: O(jobs walked), now and in
// the offer before, and O(jobs that age).
//
// Errors that change nothing:
//   - [ErrTime]: the instant is before that of an earlier offer;
//   - [resources.ErrNil]: there is no order;
//   - [ErrConcurrent]: another call goes on.
//
// Errors for a job of the order. No job has launched then, and the jobs before it
// have passed the node up:
//   - [resources.ErrNil]: the job is nil;
//   - [ErrJob]: the job comes twice;
//   - [ErrTime]: the job was offered a node later by other means.
//
// EuroSys 2010, Algorithms 2 and 3.
func (l *Line) Offer(now time.Time, order iter.Seq2[*Job, locality.Level]) (*Job, error) {
	switch {
	case l == nil:
		return nil, absent("line")
	case order == nil:
		return nil, refuse(resources.ErrNil, "offer at %v: a nil order, want jobs", now)
	}
	if err := l.use.enter("offer"); err != nil {
		return nil, err
	}
	defer l.use.leave()
	if l.round > 0 && now.Before(l.last) {
		return nil, refuse(ErrTime, "offer at %v: the last one was at %v", now, l.last)
	}
	since := time.Duration(0)
	if l.round > 0 {
		since = now.Sub(l.last)
	}
	l.last = now
	l.round++
	l.ageing, l.before = l.before[:0], l.ageing
	l.tally.pass(since, l.window)
	taker, err := l.walk(now, since, order)
	for i, j := range l.before {
		l.before[i] = nil
		if j.line != l || j.round == l.round {
			continue // another line's by now, or reached
		}
		// The order was not walked to this job. It ages on only if many slots idle.
		waits := j.waiting && j.priced && l.tally.idles()
		err = errors.Join(err, j.Pause(now)) // it has aged up to now
		if waits {
			j.waiting = true // the node that it has passed up still idles
			l.ageing = append(l.ageing, j)
		}
	}
	return taker, err
}

// walk offers the node to one job after the other.
func (l *Line) walk(now time.Time, since time.Duration, order iter.Seq2[*Job, locality.Level]) (*Job, error) {
	passed := false
	for j, level := range order {
		switch {
		case j == nil:
			return nil, refuse(resources.ErrNil, "offer at %v: a nil job in the order, want jobs", now)
		case j.line == l && j.round == l.round:
			return nil, refuse(ErrJob, "offer at %v: a job twice in the order, want each once", now)
		}
		waited := j.waiting
		if _, err := j.advance("offer", now); err != nil {
			return nil, err
		}
		if j.line != l {
			j.join(l)
		}
		decision := j.decide(level, waited, since, &l.tally)
		j.round = l.round
		l.window = max(l.window, j.whole)
		if j.waiting {
			l.ageing = append(l.ageing, j)
		}
		if decision.Launch {
			l.tally.taken++
			return j, nil
		}
		passed = true
	}
	if passed { // an offer to an empty order says nothing of the waits
		l.tally.idle++
	}
	return nil, nil
}

// join makes j a job of l. Its wait elsewhere counts as idle in full: the other
// line may be in use.
func (j *Job) join(l *Line) {
	if !j.open(anyLevel, j.settled) {
		j.debt = older(j.debt, j.aged-j.settled)
	}
	j.settled = j.aged
	j.line, j.cost = l, l.tally.cost
}
