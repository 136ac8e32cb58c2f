package loop

import (
	"context"
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
// Wait blocks until something may have changed that lets need fit, or the
// context is done. Pass says that the loop is not going to use what it was
// woken for. While Wait blocks nothing else of the store is called.
type Waiter interface {
	Wait(ctx context.Context, need resources.Vector) error
	Pass()
}

// Local is the [Store] and [Waiter] that a cell in the same process is. The
// scheduler serves the loop alone.
type Local struct {
	Scheduler *omega.Scheduler
}

// Refresh brings the scheduler's snapshot up to date. It fails if ctx is done.
func (l Local) Refresh(ctx context.Context, now time.Time) (*omega.Snapshot, error) {
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

// Wait is [omega.Scheduler.Wait].
func (l Local) Wait(ctx context.Context, need resources.Vector) error {
	return l.Scheduler.Wait(ctx, need)
}

// Pass is [omega.Scheduler.Pass].
func (l Local) Pass() { l.Scheduler.Pass() }
