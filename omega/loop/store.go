package loop

import (
	"context"
	"iter"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Waiter is what an [omega.Store] may be besides, so that [Loop.Run] is woken by what
// happens in the cell, where it would otherwise look again when a back-off
// ends.
//
// WaitAny blocks until something may have changed that lets the needs of one of the
// gangs fit at once, or the context is done. Pass says that the loop is not going to
// use what it was woken for. While WaitAny blocks nothing else of the store is
// called, but the methods of a [Marker].
type Waiter interface {
	WaitAny(ctx context.Context, gangs ...[]resources.Vector) error
	Pass()
}

// Marker is what an [omega.Store] may be besides, so that the loop reports allocations that
// were preempted or lost, as [Preempted] events.
//
// The methods are those of [omega.Scheduler]. Marked and Holds are called from the
// steps. WaitMark is called from a goroutine of [Loop.Run], and blocks while the
// steps call the other methods of the store.
type Marker interface {
	Marked() iter.Seq[omega.Mark]
	WaitMark(ctx context.Context) error
	Holds(a omega.AllocationID) bool
}

// Limiter is what an [omega.Store] may be besides, so that [Loop.Submit] refuses jobs that
// the limits of its scheduler never allow. Without it, such a job is [Abandoned] by
// its first attempt. Limits is called from any goroutine.
type Limiter interface {
	Limits() omega.Limits
}
