package omega

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// ErrOutcome reports that the Commit of a [Store] cannot tell whether the transaction
// was applied.
var ErrOutcome = errors.New("omega: outcome of the commit is unknown")

// Store is the cell as the attempts of one scheduler see it: [Local], or a cell
// elsewhere. One goroutine at a time calls it: see [Attempt].
//
// Refresh brings the snapshot up to date and returns it; visit may be nil: see
// [Snapshot.RefreshEach]. Commit returns nil once tx has its outcome. An error means that
// nothing was changed, unless it wraps [ErrOutcome]: Commit cannot tell. It is then
// called again with the same tx and nothing else, until it can, and must not apply tx
// twice.
type Store interface {
	Refresh(ctx context.Context, now time.Time, visit func(MachineState)) (*Snapshot, error)
	Commit(ctx context.Context, tx *Txn) (granted int, err error)
}

// Local is the Store of a cell in the same process, with the other methods that a
// scheduler loop uses. The scheduler serves the attempts of one owner alone.
type Local struct {
	Scheduler *Scheduler
}

// Refresh brings the scheduler's snapshot up to date. It fails if ctx is done.
func (l Local) Refresh(ctx context.Context, now time.Time, visit func(MachineState)) (*Snapshot, error) {
	snap := l.Scheduler.Snapshot()
	if snap == nil {
		return nil, absent("scheduler")
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	snap.RefreshEach(now, visit)
	return snap, nil
}

// Commit is [Scheduler.CommitContext].
func (l Local) Commit(ctx context.Context, tx *Txn) (granted int, err error) {
	return l.Scheduler.CommitContext(ctx, tx)
}

// WaitAny is [Scheduler.WaitAny].
func (l Local) WaitAny(ctx context.Context, gangs ...[]resources.Vector) error {
	return l.Scheduler.WaitAny(ctx, gangs...)
}

// Pass is [Scheduler.Pass].
func (l Local) Pass() { l.Scheduler.Pass() }

// Marked is [Scheduler.Marked].
func (l Local) Marked() iter.Seq[Mark] { return l.Scheduler.Marked() }

// WaitMark is [Scheduler.WaitMark].
func (l Local) WaitMark(ctx context.Context) error { return l.Scheduler.WaitMark(ctx) }

// Holds is [Scheduler.Holds].
func (l Local) Holds(a AllocationID) bool { return l.Scheduler.Holds(a) }

// Limits is [Scheduler.Limits].
func (l Local) Limits() Limits { return l.Scheduler.Limits() }
