package loop

import (
	"context"
	"iter"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// waiter is an [omega.Store] that wakes [Loop.Run] on changes in the cell. Without it, Run
// looks again when a back-off ends.
//
// WaitAny blocks until a change may let the needs of one of the gangs fit at once, or the
// context is done. Pass says that the loop is not going to use the room that it was woken
// for. While WaitAny blocks, no other method of the store is called, but for those of a
// marker.
type waiter interface {
	WaitAny(ctx context.Context, gangs ...[]resources.Vector) error
	Pass()
}

// marker is an [omega.Store] that lets the loop report preempted and lost allocations, as
// [Preempted] events.
//
// The methods are those of [omega.Scheduler]. Marked and Holds are called from the steps.
// WaitMark is called from a goroutine of [Loop.Run], and blocks while the steps call the
// other methods of the store.
type marker interface {
	Marked() iter.Seq[omega.Mark]
	WaitMark(ctx context.Context) error
	Holds(a omega.AllocationID) bool
}

// limiter is an [omega.Store] that lets [Loop.Submit] refuse jobs that the limits of its
// scheduler never allow. Without it, such a job is [Abandoned] by its first attempt. Limits
// is called from any goroutine.
type limiter interface {
	Limits() omega.Limits
}
