package loop

import (
	"context"
	"iter"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Store is the cell as a loop sees it: [Local], or one behind which the cell
// is kept elsewhere.
//
// Refresh brings the snapshot up to date and returns it. Commit commits tx and
// returns nil once tx has its outcome, whatever that is. An error means that
// nothing was changed, with one exception: when Commit cannot tell, it returns
// an error that wraps [ErrOutcome]. It is then called again with the same tx,
// and nothing else is committed in between, until it answers otherwise; it
// must not apply tx twice.
//
// Both are called from the steps of one loop, with their context.
type Store interface {
	Refresh(ctx context.Context, now time.Time) (*omega.Snapshot, error)
	Commit(ctx context.Context, tx *omega.Txn) (granted int, err error)
}

// Waiter is what a [Store] may be besides, so that [Loop.Run] is woken by what
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

// Marker is what a [Store] may be besides, so that the loop reports allocations that
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

// Limiter is what a [Store] may be besides, so that [Loop.Submit] refuses jobs that
// the limits of its scheduler never allow. Without it, such a job is [Abandoned] by
// its first attempt. Limits is called from any goroutine.
type Limiter interface {
	Limits() omega.Limits
}

// Local is the [Store], [Waiter], [Marker] and [Limiter] that a cell in the same
// process is. The scheduler serves the loop alone.
type Local struct {
	Scheduler *omega.Scheduler
}

// Refresh brings the scheduler's snapshot up to date. It fails if ctx is done.
func (l Local) Refresh(ctx context.Context, now time.Time) (*omega.Snapshot, error) {
	if l.Scheduler == nil {
		return nil, absent("scheduler")
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	snap := l.Scheduler.Snapshot()
	snap.Refresh(now)
	return snap, nil
}

// Commit commits tx. It does not wait, and so disregards ctx.
func (l Local) Commit(_ context.Context, tx *omega.Txn) (granted int, err error) {
	return l.Scheduler.Commit(tx)
}

// WaitAny is [omega.Scheduler.WaitAny].
func (l Local) WaitAny(ctx context.Context, gangs ...[]resources.Vector) error {
	return l.Scheduler.WaitAny(ctx, gangs...)
}

// Pass is [omega.Scheduler.Pass].
func (l Local) Pass() { l.Scheduler.Pass() }

// Marked is [omega.Scheduler.Marked].
func (l Local) Marked() iter.Seq[omega.Mark] { return l.Scheduler.Marked() }

// WaitMark is [omega.Scheduler.WaitMark].
func (l Local) WaitMark(ctx context.Context) error { return l.Scheduler.WaitMark(ctx) }

// Holds is [omega.Scheduler.Holds].
func (l Local) Holds(a omega.AllocationID) bool { return l.Scheduler.Holds(a) }

// Limits is [omega.Scheduler.Limits].
func (l Local) Limits() omega.Limits { return l.Scheduler.Limits() }
