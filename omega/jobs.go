package omega

import "github.com/cellsched/cellsched/omega/internal/atomics"

// jobs is the number of jobs that a scheduler has admitted. Its zero value is none.
//
// It is replaced as a machine's word is, so that a cut finds the number at the moment
// when the cut began. A new value carries the cell's epoch, read after the old value. It
// also carries the number in the epoch before.
type jobs struct {
	atomics.Pointer[admitted]
}

// admitted is one value of jobs. It is immutable.
type admitted struct {
	n     int64
	epoch uint32
	past  int64 // the last n of an earlier epoch
}

func (a *admitted) count() int64 {
	if a == nil {
		return 0
	}
	return a.n
}

// next returns the value that follows a in an epoch, with by more jobs.
func (a *admitted) next(epoch uint32, by int64) *admitted {
	next := &admitted{n: a.count() + by, epoch: epoch, past: a.count()}
	if a != nil && a.epoch == epoch {
		next.past = a.past
	}
	return next
}

// change adds to the number of jobs. It returns false if the value is not was any more.
func (j *jobs) change(c *Cell, was *admitted, by int64) bool {
	return j.CompareAndSwap(was, was.next(c.epoch.Load(), by))
}

// move replaces the value by an equal one, so that a change in progress fails. It
// fails only if a job was begun or ended.
func (j *jobs) move(c *Cell) {
	for !j.change(c, j.Load(), 0) {
		continue
	}
}

// before returns how many jobs there were before the present epoch, which is that of a
// cut. The swap fails only if a job was begun or ended.
func (j *jobs) before(epoch uint32) int64 {
	for {
		was := j.Load()
		if was != nil && was.epoch == epoch {
			return was.past
		}
		if next := was.next(epoch, 0); j.CompareAndSwap(was, next) {
			return next.past
		}
	}
}
