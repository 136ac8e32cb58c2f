package delay

import (
	"math/bits"
	"time"

	"github.com/cellsched/cellsched/locality"
)

// repay is the part of the time without waiting that is taken off a debt: in the
// long run 1/repay of a cell idles for a job.
const repay = 16

// bill is the price of a job's waits: the time for which the cell has idled.
//
// Bound. Let W be the waits of a job together, K its tasks as told to
// [Job.SetPending], n of them launched at the nearest level, and g the longest
// time between two calls. In a time X the cell idles for the job for at most
//
//		W + W·5n/4K + X/16 + g, where n/K is 0 if K was not told, and 1 at most.
//
//	 1. An offer is passed up only while aged < W: then a level is closed.
//	 2. A launch leaves aged at the debt or above. Between launches, aged grows by
//	    all that charge adds to the debt later. So debt < W whenever an offer is
//	    passed up, and debt < W + g at any time.
//	 3. The debt grows by all that idles. Let p be the part of the cell that idles,
//	    at most 1. The sum of p over the time waited is at most that time, and at
//	    most the sum of p over all time, which is tally.cost. charge takes the lesser.
//	 4. The debt falls by 1/16 of the time in which the job does not wait, and by
//	    5W/4K for a launch at the nearest level, 5W/4 in all.
//	 5. All that has idled is the debt, by 2 below W + g, and what was taken off, by 4.
//
// Makespan. Let tasks take T on S slots, so that M = K·T/S without waiting. By
// the bound all is done within M + T + W·(1+5n/4K) + X/16 + g. Where most of the
// cell idles, tally counts it as idle as a whole, so n·T/S of M is done in the
// time that the bound counts. Then 5n/4K·W costs nothing as long as W is at most
// 4/5·M, and M + T + W + X/16 + g remains.
type bill struct {
	debt     time.Duration
	settled  time.Duration // aged, up to which the debt is known
	cost     time.Duration // of the tally, then
	rested   time.Duration // time without waiting, not yet taken off
	whole    time.Duration // all waits of the policy together
	expected int           // tasks: the most that were told
	forgiven time.Duration // for launches at the nearest level
}

// settle ends the wait with a launch at that level, but for the debt.
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

// charge adds to the debt what has idled since the last call while the job waited.
func (j *Job) charge(t *tally) {
	waited := j.aged - j.settled
	if j.open(anyLevel, j.settled) {
		j.rested = older(j.rested, waited) // it took all that came
	} else {
		j.debt = older(j.debt, min(waited, t.cost-j.cost))
	}
	j.settled, j.cost = j.aged, t.cost
}

// tally tells from offers which part of a cell idles.
//
// A slot that idles is offered again and again, a busy one when its task ends. So
// the part of the offers that no job takes is no less than the part of the slots
// that idle, if idle slots are offered at least as often as tasks end.
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
		t.idle -= t.idle / 2 // what idles does so until it is taken: 1 is not 0
		t.taken /= 2
		t.age = 0
	}
}

// idled returns the part of a time that the idle slots are of the cell: all of
// it if most idle.
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

// idles reports whether more than 3/8 of the slots idle: a cell with fewer takes
// less than 1.6 times as long as one without, even if they idle all the time.
func (t *tally) idles() bool { return 5*t.idle > 3*t.taken }

// take notes that a job takes all nodes: what has idled does so no longer.
func (t *tally) take() { t.idle, t.taken, t.age = 0, 0, 0 }
