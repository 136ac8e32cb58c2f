package flow

import (
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality/quincy"
)

// clock counts time as the planner does: in units, from the first time that it is told.
type clock struct {
	unit     time.Duration
	patience int64 // in units
	begun    bool
	epoch    time.Time // time 0, once begun
	now      int64
}

// maxTime is the planner's limit.
const maxTime = 1 << 28

// impatient reports whether tk has waited beyond the patience at time since.
func (cl *clock) impatient(since int64) bool { return cl.now-since >= cl.patience }

// units returns now as the planner counts it.
func (cl *clock) units(now time.Time) (int64, error) {
	epoch := cl.epoch
	if !cl.begun {
		epoch = now
	}
	if now.Before(epoch) {
		return 0, fault.Newf("flow", quincy.ErrTime, "%v is before %v, the first time there was", now, epoch)
	}
	at := int64(now.Sub(epoch) / cl.unit)
	if at < cl.now || at > maxTime {
		return 0, fault.Newf("flow", quincy.ErrTime, "%v is %d units of %v from %v, want %d to %d",
			now, at, cl.unit, epoch, cl.now, int64(maxTime))
	}
	return at, nil
}

// pass has it be now, which is at as the planner counts it.
func (cl *clock) pass(now time.Time, at int64) {
	if !cl.begun {
		cl.begun, cl.epoch = true, now
	}
	cl.now = at
}
