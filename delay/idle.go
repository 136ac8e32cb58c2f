package delay

import (
	"math/bits"
	"time"

	"github.com/cellsched/cellsched/locality"
)

// repay bounds the idle time of the cell: 1/repay of the time without waiting is
// taken off a debt. In the long run 1/repay of a cell idles for a job.
const repay = 16

// bill is the price of a job's waits: the time for which the cell has idled.
//
// Bound. Let W be the sum of a job's waits, and K its tasks as set by
// [Job.SetPending]. Let n of them be launched at the nearest level, and g be the
// longest time between two calls. In a time X the cell idles for the job for at
// most
//
//		W + W·5n/4K + X/16 + g, where n/K is 0 if K is not set, and 1 at most.
//
//	 1. An offer is passed up only while aged < W: then a level is closed.
//	 2. A launch leaves aged at the debt or above. Between launches, aged grows by
//	    all that charge adds to the debt later. So debt < W whenever an offer is
//	    passed up, and debt < W + g at any time.
//	 3. The debt grows by all idle time. Let p be the part of the cell that idles, at
//	    most 1. The sum of p over the time waited is at most that time. It is at most
//	    the sum of p over all time, too, which is tally.cost. charge takes the
//	    lesser.
//	 4. The debt falls by 1/16 of the time in which the job does not wait. It falls
//	    by 5W/4K for a launch at the nearest level, 5W/4 in all.
//	 5. The sum of all idle time is the debt, by 2 below W + g, plus the reductions,
//	    by 4.
//
// Makespan. Let tasks take T on S slots, so that M = K·T/S without waiting. By the
// bound all is done within M + T + W·(1+5n/4K) + X/16 + g. If most of the cell
// idles, tally counts it as idle as a whole. So n·T/S of M is done in the time that
// the bound counts. Then 5n/4K·W costs nothing as long as W is at most 4/5·M, and M
// + T + W + X/16 + g remains.
type bill struct {
	debt     time.Duration
	settled  time.Duration // aged, up to which the debt is known
	cost     time.Duration // of the tally, then
	rested   time.Duration // time without waiting, not yet taken off
	whole    time.Duration // all waits of the policy together
	expected int           // the largest number of tasks that was set
	forgiven time.Duration // for launches at the nearest level
}

// settle ends the wait with a launch at that level, except for the debt.
func (j *Job) settle(at locality.Level, t *tally) {
	if j.aged > j.settled {
		j.charge(t)
	}
	j.cost = t.cost
	j.debt, j.rested = max(0, j.debt-j.rested/repay), 0
	if j.level = at; j.debt == 0 {
		j.aged, j.settled = 0, 0
		return
	}
	first := j.opensAfter[min(int(j.nearest), j.waits)]
	if at <= j.nearest && j.expected > 0 {
		waits := j.opensAfter[j.waits] - first
		off := min(waits/4/time.Duration(j.expected)*5, j.whole/4*5-j.forgiven, j.debt)
		j.forgiven += off
		j.debt -= off
	}
	j.aged = max(0, j.debt-(j.opensAfter[min(int(max(at, j.nearest)), j.waits)]-first))
	j.settled = j.aged
}

// charge adds the idle time since the last call to the debt, as far as the job
// waited.
func (j *Job) charge(t *tally) {
	waited := j.aged - j.settled
	if j.open(anyLevel, j.settled) {
		j.rested = older(j.rested, waited) // it took all offers
	} else {
		j.debt = older(j.debt, min(waited, t.cost-j.cost))
	}
	j.settled, j.cost = j.aged, t.cost
}

// tally estimates the idle part of a cell from offers.
//
// A slot that idles is offered again and again, a busy one when its task ends.
// Suppose that idle slots are offered at least as often as tasks end. Then the part
// of offers without a taker is no less than the part of idle slots.
type tally struct {
	idle, taken uint64        // offers that no job took, and the others
	age         time.Duration // of the counts
	cost        time.Duration // the sum of the time, times the part that idled
}

// pass lets time pass. Counts are halved after each window: a round of offers,
// idle slots first and busy ones last, is to be in them as a whole.
func (t *tally) pass(since, window time.Duration) {
	if t.idle+t.taken == 0 {
		return // counts are as old as the first of them
	}
	t.cost = older(t.cost, t.idled(since))
	if t.age = older(t.age, since); t.age >= window {
		t.idle -= t.idle / 2 // an idle slot idles until it is taken: 1 must not become 0
		t.taken /= 2
		t.age = 0
	}
}

// idled returns the part of a time that the idle slots are of the cell. It returns
// all of the time if most slots idle.
func (t *tally) idled(d time.Duration) time.Duration {
	switch {
	case t.idle == 0:
		return 0
	case t.idles():
		return d
	}
	hi, lo := bits.Mul64(uint64(d), t.idle)
	part, _ := bits.Div64(hi, lo, t.idle+t.taken)
	return time.Duration(part)
}

// idles reports whether more than 3/8 of the slots idle. With fewer idle slots a
// cell takes less than 1.6 times as long as without any, even if they idle all the
// time.
func (t *tally) idles() bool { return 5*t.idle > 3*t.taken }

// take notes that a job takes all nodes: idle slots are idle no longer.
func (t *tally) take() { t.idle, t.taken, t.age = 0, 0, 0 }
