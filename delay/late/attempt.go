package late

import (
	"time"

	"github.com/cellsched/cellsched/locality"
)

// Attempt is one run of a task: the original, or the copy. It is a plain value,
// of one [Job]; the zero Attempt runs in none.
type Attempt struct {
	job       *Job
	slot, gen uint32
}

// attempt is a run of a task. Times are since the job's epoch.
type attempt struct {
	start, last time.Duration // last is the time of the last report
	progress    float64
	gen         uint32
	node        locality.Node
	twin        uint32 // of an original: its copy's slot; of a copy: its original's
	role        role
	settled     bool // counted in rates, under key
	key         int32
	prev, next  uint32 // in order
	_           uint64 // 64 bytes: one cache line, in an array that is aligned
}

type role uint8

const (
	gone     role = iota
	alone         // original without copy
	original      // with one
	duplicate
	lost // its twin has finished; it holds its slot until Fail
)

// one is a progress of 1. Sums of progress are integers so that they do not
// drift: two milliard tasks fit.
const one = 1 << 32

// rate returns the progress in a second, as of the last report: 0 for an attempt
// without progress.
func (a *attempt) rate() float64 {
	return a.progress / float64(max(1, a.last-a.start)) * float64(time.Second)
}

// end returns the time at which the attempt ends if it keeps its rate. It changes
// with reports alone, not with time, and is for comparisons. An attempt with less
// progress than 1e-12 ends later than all with more, and among these the oldest
// ends last.
func (a *attempt) end() float64 {
	if a.progress < 1e-12 {
		return never / (1 + float64(a.start))
	}
	return float64(a.start) + float64(max(1, a.last-a.start))/a.progress
}

// never divided by the longest duration is later than the longest duration over a
// progress of 1e-12.
const never = 1e60

// fixed returns a progress in units of 1/one.
func fixed(progress float64) int64 { return int64(progress * one) }

func (j *Job) find(op string, of Attempt) (*attempt, error) {
	if of.job != nil && of.job != j {
		return nil, refuse(errAttempt, "%s attempt %d of another job", op, of.slot)
	}
	if int(of.slot) < len(j.attempts) {
		switch a := &j.attempts[of.slot]; {
		case a.gen != of.gen || a.role == gone:
		case a.role == lost:
			return nil, refuse(errAttempt, "%s attempt %d: its twin has finished", op, of.slot)
		default:
			return a, nil
		}
	}
	return nil, refuse(errAttempt, "%s attempt: want one that has neither finished nor failed", op)
}

func (j *Job) handle(slot uint32) Attempt { return Attempt{j, slot, j.attempts[slot].gen} }

// begin makes an attempt that starts now, in a free slot.
func (j *Job) begin(node locality.Node, r role) uint32 {
	slot := uint32(len(j.attempts))
	if last := len(j.free) - 1; last >= 0 {
		slot, j.free = j.free[last], j.free[:last]
	} else {
		j.attempts = append(j.attempts, attempt{})
	}
	gen := j.attempts[slot].gen + 1
	j.attempts[slot] = attempt{start: j.now, last: j.now, gen: gen, node: node, role: r}
	return slot
}

// end frees a slot. The caller takes the attempt out of all sums.
func (j *Job) end(slot uint32) {
	a := &j.attempts[slot]
	switch a.role {
	case duplicate:
		j.copies--
		j.book.giveBack()
	case lost:
		j.lost--
		j.book.giveBack()
	default:
	}
	a.role = gone
	j.free = append(j.free, slot)
}

// lose marks an attempt that lost to its twin. The two of them go on counting as
// one copy in the book until end.
func (j *Job) lose(slot uint32) {
	j.copies--
	j.lost++
	j.attempts[j.attempts[slot].twin].role = alone
	j.attempts[slot].role, j.attempts[slot].settled = lost, false
}

// forget takes an original out of all sums of originals.
func (j *Job) forget(slot uint32) {
	a := &j.attempts[slot]
	j.order.remove(j.attempts, slot)
	j.running--
	j.progress -= fixed(a.progress)
	if a.settled {
		j.rates.add(a.key, -1)
		if a.role == alone {
			j.waiting.drop(a.key, slot)
		}
	}
}

// promote makes a copy the original.
func (j *Job) promote(slot uint32) {
	a := &j.attempts[slot]
	a.role = alone
	j.copies--
	j.book.giveBack()
	j.running++
	j.progress += fixed(a.progress)
	j.order.insert(j.attempts, slot)
	if j.now-a.start >= j.policy.MinAge {
		j.settle(slot)
		j.order.settled(j.attempts, slot)
	}
}

// report notes the progress of an attempt, now.
func (j *Job) report(slot uint32, progress float64) {
	a := &j.attempts[slot]
	if took := float64(j.now - a.last); took > 0 {
		made := progress - a.progress
		j.made, j.spent = j.made+made, j.spent+took
		if j.made > 0 {
			j.book.progressed(j.base+j.now, a.node, made*j.spent/j.made, took)
		}
	}
	if a.role != duplicate {
		j.progress += fixed(progress) - fixed(a.progress)
	}
	a.progress, a.last = progress, j.now
	if !a.settled {
		return
	}
	was := a.key
	a.key = key(a.rate())
	if a.key != was {
		j.rates.add(was, -1)
		j.rates.add(a.key, 1)
	}
	if a.role == alone {
		j.waiting.move(was, a.key, ending{a.end(), slot})
	}
}

// settle counts the rate of an original that is old enough.
func (j *Job) settle(slot uint32) {
	a := &j.attempts[slot]
	a.settled, a.key = true, key(a.rate())
	j.rates.add(a.key, 1)
	if a.role == alone {
		j.waiting.put(a.key, ending{a.end(), slot})
	}
}
