package late

import (
	"fmt"
	"math"
	"time"

	"github.com/cellsched/cellsched/locality"
)

// Reason is the reason of a choice by [Job.Pick], to print: [Chosen], or why there is no task
// to copy. The words, in the order in which the reasons are checked:
//
//	off              the policy is [Never]
//	at cap           as many copies run as may
//	slow node        the node that asks is slow
//	none running     every task that runs has a copy, or none runs
//	too few finished not enough tasks are finished for the rule to know
//	too young        no task without copy is old enough
//	none slow        no task without copy is slow
//	own node         the node that asks runs each task to copy itself
//	no gain          a copy would be expected to end after the original
type Reason uint8

// Chosen reports that there is a task to copy.
const Chosen Reason = 0

const (
	off Reason = iota + 1
	atCap
	slowNodeAsks
	noneRunning
	tooFew
	tooYoung
	noneSlow
	ownNode
	noGain
)

var reasons = [...]string{
	"chosen", "off", "at cap", "slow node", "none running", "too few finished",
	"too young", "none slow", "own node", "no gain",
}

// String returns the reason in words.
func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// Choice is the result of [Job.Pick] for a free slot.
type Choice struct {
	// Why is Chosen if there is a task to copy, otherwise the reason why there is
	// none.
	Why Reason

	// Of is the attempt to copy.
	Of Attempt

	// Left is the time that it is expected to run from now.
	Left time.Duration
}

// Estimate is the expected course of an attempt.
type Estimate struct {
	// Progress is the last reported progress, from 0 to 1.
	Progress float64

	// Rate is the progress in a second: Progress over the age, 0 at age 0.
	Rate float64

	// Left is the time that it will still run at that rate: (1 - Progress) / Rate.
	// It is the longest duration if the rate is 0.
	Left time.Duration
}

// Pick chooses the task that a free slot of a node should run a copy of. If there
// is none it returns the reason.
//
// Call it when no task waits to be started: a copy is for slots that would idle.
// Pick starts nothing: the caller does, with [Job.Copy]. Claim the slot of a copy
// at a lower precedence than originals, so that it is preempted first, and call
// [Job.Fail] when it was. The choice among tasks that end at the same instant is
// the same for the same calls.
//
// Three cases are open in the paper:
//
//   - Rates within 1/64 of each other are equal, so where all are equal none is
//     slow.
//   - A task that is alone is not slow: there is none to compare it with.
//   - Tasks at rate 0 are expected never to end. Of several the oldest ends last.
//
// An unknown node fails with [ErrCall]. Cost: O(log tasks) and no allocation, for
// each task on the node itself that is skipped. For [Hadoop] it is O(tasks), for
// [Spark] O(tasks with a copy).
func (j *Job) Pick(now time.Time, node locality.Node) (Choice, error) {
	if j.none() {
		return Choice{}, absent("job")
	}
	if err := j.book.check("pick", node); err != nil {
		return Choice{}, err
	}
	if err := j.advance("pick", now); err != nil {
		return Choice{}, err
	}
	switch {
	case j.policy.Rule == Never:
		return Choice{Why: off}, nil
	case j.book.full(j.policy.Cap) || j.policy.Rule == MapReduce2 && j.copies+j.lost >= max(10, j.tasks/100, j.running/10):
		return Choice{Why: atCap}, nil
	case j.book.Slow(node, j.policy.SlowNode):
		return Choice{Why: slowNodeAsks}, nil
	case j.running == j.copies:
		return Choice{Why: noneRunning}, nil
	}
	var slot uint32
	var why Reason
	switch j.policy.Rule {
	case Hadoop:
		slot, why = j.pickBehind(node)
	case Spark:
		slot, why = j.pickOld(node)
	case MapReduce2:
		if j.finished == 0 {
			return Choice{Why: tooFew}, nil
		}
		slot, why = j.pickLast(node, math.MaxInt32, j.took/float64(j.finished))
	default:
		slot, why = j.pickSlow(node)
	}
	if why != Chosen {
		return Choice{Why: why}, nil
	}
	return Choice{Of: j.handle(slot), Left: j.attempts[slot].estimate(j.now).Left}, nil
}

// Estimate returns the expected course of an attempt, if it has made no progress
// since its last report. It does not move the job's time. An attempt that no longer
// runs fails with [ErrCall], an instant before the last call's with [ErrCall].
func (j *Job) Estimate(now time.Time, of Attempt) (Estimate, error) {
	if j.none() {
		return Estimate{}, absent("job")
	}
	a, err := j.find("estimate", of)
	if err != nil {
		return Estimate{}, err
	}
	if err := j.inTime("estimate", now); err != nil {
		return Estimate{}, err
	}
	return a.estimate(now.Sub(j.epoch)), nil
}

func (a *attempt) estimate(now time.Duration) Estimate {
	e := Estimate{Progress: a.progress, Left: math.MaxInt64}
	if age := float64(now - a.start); age > 0 && a.progress > 0 {
		e.Rate = a.progress / age * float64(time.Second)
		e.Left = nanos((1 - a.progress) / a.progress * age)
	}
	return e
}

// pickSlow is LATE's rule.
func (j *Job) pickSlow(node locality.Node) (uint32, Reason) {
	if j.waiting.n == 0 {
		return 0, tooYoung
	}
	afresh := 0.0
	if j.policy.Gain {
		afresh = math.MaxFloat64
		if median := middle(j.rates.percentile(0.5)); median > 0 {
			afresh = float64(time.Second) / median
		}
		if speed, known := j.book.Speed(node); known && speed > 0 {
			afresh /= speed
		}
	}
	return j.pickLast(node, j.rates.percentile(j.policy.SlowTask), afresh)
}

// pickLast returns the task with the latest end among those with a rate below a
// bucket. It has to run longer than a copy that takes afresh nanoseconds.
func (j *Job) pickLast(node locality.Node, below int32, afresh float64) (uint32, Reason) {
	if j.waiting.n == 0 {
		return 0, tooYoung
	}
	why := noneSlow
	found, ok := j.waiting.last(below, func(slot uint32) bool {
		if j.attempts[slot].node == node {
			why = ownNode
			return false
		}
		return true
	})
	switch {
	case !ok:
		return 0, why
	case afresh > 0 && float64(j.attempts[found.slot].estimate(j.now).Left) <= afresh:
		return 0, noGain
	}
	return found.slot, Chosen
}

// pickBehind is Hadoop's older rule. The average is over all tasks that have
// started. Hadoop takes the first candidate of a list that has the node's local
// tasks in front, which is unrelated to their progress. The hash stands for that
// list, in the same way each time.
func (j *Job) pickBehind(node locality.Node) (uint32, Reason) {
	started := int64(j.running + j.finished)
	average := float64(j.progress+int64(j.finished)*one) / float64(started) / one
	best, least := uint32(0), uint64(math.MaxUint64)
	_, why := j.firstOld(node, j.policy.MinAge, func(slot uint32) (slow, take bool) {
		a := &j.attempts[slot]
		if a.progress > average-j.policy.Gap {
			return false, false
		}
		if h := mix(uint64(node)<<32 | uint64(slot)); a.node != node && h < least {
			best, least = slot, h
		}
		return true, false
	})
	if least < math.MaxUint64 {
		return best, Chosen
	}
	return 0, why
}

// mix maps numbers to numbers that look random: the finalizer of splitmix64.
func mix(v uint64) uint64 {
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// pickOld is Spark's rule.
func (j *Job) pickOld(node locality.Node) (uint32, Reason) {
	if j.finished < max(1, floor(j.policy.Quantile*float64(j.tasks))) {
		return 0, tooFew
	}
	threshold := max(j.policy.MinAge, nanos(math.Floor(j.policy.Multiplier*float64(j.durations.value()))))
	if threshold == math.MaxInt64 {
		return 0, noneSlow
	}
	// Longer than the threshold, not as long: a nanosecond more.
	slot, why := j.firstOld(node, threshold+1, func(uint32) (slow, take bool) { return true, true })
	if why == tooYoung && j.waiting.n > 0 {
		why = noneSlow // old, and not as old as that
	}
	return slot, why
}

// firstOld returns the first original by start that is of that age, has no copy,
// does not run on the node, and is to be taken.
func (j *Job) firstOld(node locality.Node, age time.Duration, is func(slot uint32) (slow, take bool)) (uint32, Reason) {
	why := tooYoung
	for slot := j.order.first; slot != noSlot; slot = j.attempts[slot].next {
		a := &j.attempts[slot]
		if j.now-a.start < age {
			break
		}
		if a.role != alone {
			continue
		}
		slow, take := is(slot)
		switch {
		case !slow:
			why = max(why, noneSlow)
		case a.node == node:
			why = ownNode
		case take:
			return slot, Chosen
		}
	}
	return 0, why
}
