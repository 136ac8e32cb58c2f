package omega

import (
	"context"
	"errors"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Attempt is the engine of a scheduler's attempts to change the cell, one at a time:
//
//	Begin ──▶ snapshot ──▶ place ──▶ Txn ──▶ Commit ──▶ Outcome
//	  ▲                                       │ ▲
//	  └─────────── the next attempt ──────────┘ └─ Commit again, while in doubt
//
// An Attempt is reused for the next one. Without a Store it fails with
// [resources.ErrNil]. It is not safe for concurrent use. Commit uses nothing but the
// attempt, so a caller that plans under a lock may commit without it.
type Attempt struct {
	Store Store
	// Txn holds the claims and releases of the attempt. It is the attempt's from Commit
	// on until there is an outcome.
	Txn Txn

	doubt int // commits in a row without a known outcome
}

// Begin empties the transaction, refreshes the snapshot and returns it. Errors:
// [ErrOutcome] while the last attempt is in doubt, and then nothing has changed; those of
// the store.
func (a *Attempt) Begin(ctx context.Context, now time.Time) (*Snapshot, error) {
	return a.BeginEach(ctx, now, nil)
}

// BeginEach is [Attempt.Begin], and calls visit as [Snapshot.RefreshEach] does.
func (a *Attempt) BeginEach(ctx context.Context, now time.Time, visit func(MachineState)) (*Snapshot, error) {
	if a == nil || a.Store == nil {
		return nil, absent("store")
	}
	if a.doubt > 0 {
		return nil, ErrOutcome
	}
	a.Txn.Reset()
	return a.Store.Refresh(ctx, now, visit)
}

// Commit commits the transaction at now, and returns how many claims were granted.
// Refused claims are no error: see [Attempt.Outcome]. An empty transaction changes
// nothing.
//
// Errors are those of the store. After one that wraps [ErrOutcome] the attempt is in
// doubt: the next Commit asks for the outcome of the first call. After any other error
// nothing has changed.
func (a *Attempt) Commit(ctx context.Context, now time.Time) (granted int, err error) {
	if a == nil || a.Store == nil {
		return 0, absent("store")
	}
	if a.Txn.Len() == 0 && len(a.Txn.reserves) == 0 {
		return 0, nil
	}
	if a.doubt == 0 {
		a.Txn.Now = now
	}
	granted, err = a.Store.Commit(ctx, &a.Txn)
	switch {
	case errors.Is(err, ErrOutcome):
		a.doubt++
	case err == nil || a.doubt == 0 || ctx.Err() == nil: // else the store gave up before it asked
		a.doubt = 0
	}
	return granted, err
}

// Doubt returns how often in a row the outcome was unknown, 0 without doubt.
func (a *Attempt) Doubt() int {
	if a == nil {
		return 0
	}
	return a.doubt
}

// Outcome is the result of an attempt: the claims granted, the claims refused, and why.
type Outcome struct {
	Granted []AllocationID // in the order of the claims
	Refused int
	// Conflict reports that a claim was refused because the snapshot was old: an attempt
	// on a new one may succeed.
	Conflict bool
	// Why is the reason of the first claim that was refused for itself, not for its gang.
	Why error
	// Final is the first reason that no later attempt changes.
	Final error
}

// Outcome returns the outcome of the last Commit. The result is the caller's.
func (a *Attempt) Outcome() (o Outcome) {
	if a == nil {
		return o
	}
	together := int64(1)
	if a.Txn.Gang {
		together = int64(a.Txn.Len())
	}
	for i := range a.Txn.Len() {
		if id, ok := a.Txn.Allocation(i); ok {
			if o.Granted == nil {
				o.Granted = make([]AllocationID, 0, a.Txn.Len()-i)
			}
			o.Granted = append(o.Granted, id)
			continue
		}
		if a.Txn.items[i].kind == releaseItem {
			continue
		}
		o.Refused++
		err := a.Txn.Err(i)
		if o.Why == nil || errors.Is(o.Why, ErrGang) {
			o.Why = err
		}
		item, ok := errors.AsType[*RefusalError](err)
		o.Conflict = o.Conflict || ok && item.Stale()
		if o.Final == nil && ok && item.Final(together) {
			o.Final = err
		}
	}
	return o
}

// Stale reports whether the claim was refused because the snapshot was old: its room was
// taken, or its machine takes no claims any more.
func (e *RefusalError) Stale() bool {
	return e != nil && (errors.Is(e.Reason, ErrConflict) || errors.Is(e.Reason, ErrFull) ||
		errors.Is(e.Reason, ErrDraining) || errors.Is(e.Reason, ErrRemoved))
}

// Final reports whether no later attempt can change the refusal of as many claims of this
// need at once: it was refused for the precedence, or for a limit that they exceed
// together. Other machines may be permitted later, so a forbidden machine is not final.
func (e *RefusalError) Final(together int64) bool {
	switch {
	case e == nil:
		return false
	case errors.Is(e.Reason, ErrForbidden):
		return e.Permitted == nil
	case errors.Is(e.Reason, ErrLimit):
		// A limit of nothing is that of jobs. Jobs end, so it is not final.
		return e.Limit != resources.Vector{} && !e.Need.Scale(together).Fits(e.Limit)
	}
	return false
}
