package omega

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// What a claim or a release can fail with. [Txn.Err] returns an [ItemError]
// that wraps one of them.
var (
	// ErrConflict: the claim no longer fits, or, with coarse detection, the
	// machine has changed since the scheduler's snapshot.
	ErrConflict = errors.New("conflict")
	// ErrDraining: the machine takes no new claims.
	ErrDraining = errors.New("machine is draining")
	// ErrRemoved: the machine was removed, its allocations are lost.
	ErrRemoved = errors.New("machine was removed")
	// ErrFull: the machine holds [MaxAllocations] already.
	ErrFull = errors.New("machine has no allocation slot left")
	// ErrGang: the claim fitted, another one of its gang did not.
	ErrGang = errors.New("another claim of the gang was refused")
	// ErrReleased: the allocation is not live; it was released, or never made.
	ErrReleased = errors.New("allocation is unknown or already released")
	// ErrNotOwner: the allocation belongs to another scheduler.
	ErrNotOwner = errors.New("allocation belongs to another scheduler")
	// ErrLimit: one of the scheduler's [Limits]. What a call as a whole can
	// fail with, too.
	ErrLimit = errors.New("limit")
	// ErrForbidden: the scheduler may not claim that machine, or not at that
	// precedence.
	ErrForbidden = errors.New("not permitted to the scheduler")
	// ErrPrecedence: a victim is not of lower precedence than the claim.
	ErrPrecedence = errors.New("a victim is not of lower precedence")
	// ErrSuperseded: the scheduler was replaced. What a call as a whole can
	// fail with, too.
	ErrSuperseded = errors.New("scheduler was replaced by a successor")
	// ErrLeft: the scheduler has left the cell. What a call as a whole can fail
	// with, too.
	ErrLeft = errors.New("scheduler has left the cell")
)

// What a call can fail with as a whole; nothing has changed then.
var (
	// ErrEmpty: the transaction has no claim and no release.
	ErrEmpty = errors.New("omega: transaction is empty")
	// ErrCommitted: the transaction was committed before; Reset makes it new.
	ErrCommitted = errors.New("omega: transaction is already committed")
	// ErrUncommitted: the transaction has no outcome yet.
	ErrUncommitted = errors.New("omega: transaction is not committed")
	// ErrBusy: another goroutine is inside the same scheduler's commit.
	ErrBusy = errors.New("omega: scheduler is committing in another goroutine")
	// ErrUnknown: a machine, account or item that the cell never had.
	ErrUnknown = errors.New("omega: unknown")
	// ErrName: a name that is taken, or that [resources.CheckName] refuses; the
	// error wraps [resources.ErrName] besides.
	ErrName = errors.New("omega: invalid name")
	// ErrVictim: a victim that is not on the claim's machine or named twice.
	ErrVictim = errors.New("omega: invalid victim")
	// ErrExchange: an exchange over more than one machine.
	ErrExchange = errors.New("omega: invalid exchange")
	// ErrGrace: a grace that is negative and not [AtOnce], or victims without a
	// grace, or without the time at which it begins.
	ErrGrace = errors.New("omega: invalid grace")
	// ErrInUse: a capacity below what is allocated.
	ErrInUse = errors.New("below what is in use")
	// ErrHolding: a scheduler that is to leave has something in the cell.
	ErrHolding = errors.New("omega: scheduler can not leave")
	// ErrTooMany: the cell has no number left for one more.
	ErrTooMany = errors.New("omega: too many")
)

// refuse returns an error that wraps cause and says what was tried.
func refuse(cause error, format string, args ...any) error {
	return fault.Newf("omega", cause, format, args...)
}

// An ItemError says what became of one item of a transaction that was not
// granted. It wraps the reason, one of the sentinels of this package.
type ItemError struct {
	Release    bool         // a release; else a claim
	Allocation AllocationID // of a release

	Machine MachineID // of a claim, as what follows
	Name    string    // the machine's name, "" if its number serves another one
	Need    resources.Vector
	// Free is what the machine had for the claim when it judged it: after the
	// releases of the transaction, and less its earlier claims there.
	Free      resources.Vector
	Condition Condition // of the machine at that moment
	Changed   bool      // a coarse conflict: Need may well fit in Free
	// Held and Limit are what the scheduler held and may hold, where that is
	// the reason.
	Held, Limit resources.Vector

	Reason error

	space *resources.Space
}

// Error names the allocation or machine and, on a conflict, what was needed and
// what there was, in the names and units of the cell's space.
func (e *ItemError) Error() string {
	if e.Release {
		return fmt.Sprintf("omega: release of allocation %v: %v", e.Allocation, e.Reason)
	}
	name, detail := strconv.Quote(e.Name), ""
	if e.Name == "" {
		name = "machine " + e.Machine.String()
	}
	if errors.Is(e.Reason, ErrConflict) {
		detail = fmt.Sprintf("need %s, free %s: ", format(e.space, e.Need), format(e.space, e.Free))
		if e.Changed {
			detail += "machine changed since the snapshot: "
		}
	}
	if e.Limit != (resources.Vector{}) {
		detail = fmt.Sprintf("need %s, held %s of %s: ",
			format(e.space, e.Need), format(e.space, e.Held), format(e.space, e.Limit))
	}
	return fmt.Sprintf("omega: claim on %s: %s%v", name, detail, e.Reason)
}

// Unwrap returns the reason.
func (e *ItemError) Unwrap() error { return e.Reason }

// format prints v in the names and units of the space, if there is one.
func format(space *resources.Space, v resources.Vector) string {
	if space == nil {
		return fmt.Sprint(v)
	}
	return space.Format(v)
}
