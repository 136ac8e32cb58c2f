package omega

import (
	"errors"
	"fmt"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// Errors of a claim or a release: [Txn.Err] returns a [RefusalError] that wraps one. With
// ErrLimit, ErrSuperseded and ErrLeft a call as a whole can fail too.
var (
	// ErrConflict: the claim does not fit; see [Detection].
	ErrConflict = errors.New("omega: conflict")
	// ErrDraining: the machine takes no new claims.
	ErrDraining = errors.New("omega: machine is draining")
	// ErrRemoved: the machine was removed, its allocations are lost.
	ErrRemoved = errors.New("omega: machine was removed")
	// ErrFull: the machine holds 2^20 allocations already, the most.
	ErrFull = errors.New("omega: machine has no allocation slot left")
	// ErrGang: the claim fitted, another one of its gang did not.
	ErrGang = errors.New("omega: another claim of the gang was refused")
	// ErrReleased: the allocation is not live; it was released, or never made.
	ErrReleased = errors.New("omega: allocation is unknown or already released")
	// ErrNotOwner: the allocation belongs to another scheduler.
	ErrNotOwner = errors.New("omega: allocation belongs to another scheduler")
	// ErrLimit: one of the scheduler's [Limits] rules it out.
	ErrLimit = errors.New("omega: limit of the scheduler is reached")
	// ErrForbidden: the [Limits] allow no claim there, or not at that precedence.
	ErrForbidden = errors.New("omega: claim is not permitted to the scheduler")
	// ErrPrecedence: a victim is not of lower precedence than the claim.
	ErrPrecedence = errors.New("omega: a victim is not of lower precedence")
	// ErrSuperseded: the scheduler was replaced.
	ErrSuperseded = errors.New("omega: scheduler was replaced by a successor")
	// ErrLeft: the scheduler has left the cell.
	ErrLeft = errors.New("omega: scheduler has left the cell")
)

// Errors of a call as a whole; nothing has changed then.
var (
	// ErrTxn reports a transaction that makes no sense as it is: empty, committed already or not
	// yet, or with an invalid victim, exchange, reservation or grace. The text says which.
	ErrTxn = errors.New("omega: invalid transaction")
	// errEmpty: the transaction has no claim and no release.
	errEmpty = fault.Text("omega: transaction is empty", ErrTxn)
	// errCommitted: the transaction was committed before; Reset makes it new.
	errCommitted = fault.Text("omega: transaction is already committed", ErrTxn)
	// errUncommitted: the transaction has no outcome yet.
	errUncommitted = fault.Text("omega: transaction is not committed", ErrTxn)
	// ErrBusy: another goroutine commits or waits with the same scheduler.
	ErrBusy = errors.New("omega: scheduler is in use by another goroutine")
	// ErrUnknown: a machine, account, scheduler, item or detection that there never was.
	ErrUnknown = errors.New("omega: unknown machine, account, scheduler or item")
	// ErrName: a name that is taken, or that [resources.CheckName] refuses.
	ErrName = errors.New("omega: invalid name")
	// errVictim: a victim that is not on the claim's machine or named twice.
	errVictim = fault.Text("omega: invalid victim", ErrTxn)
	// errExchange: an exchange over more than one machine.
	errExchange = fault.Text("omega: invalid exchange", ErrTxn)
	// errReservation: a reservation for no claim, for unlike claims, or over already.
	errReservation = fault.Text("omega: invalid reservation", ErrTxn)
	// errGrace: victims without [Txn.Now] and [Txn.Grace], or a negative grace.
	errGrace = fault.Text("omega: invalid grace", ErrTxn)
	// ErrInUse: a capacity below the amount allocated.
	ErrInUse = errors.New("omega: capacity is below what is in use")
	// ErrHolding: a scheduler that is to leave has something in the cell.
	ErrHolding = errors.New("omega: scheduler cannot leave")
	// ErrTooMany: the cell has no number left for one more.
	ErrTooMany = errors.New("omega: too many machines or schedulers")
)

// refuse returns an error that wraps cause and names the refused call.
func refuse(cause error, format string, args ...any) error {
	return fault.Newf("omega", cause, format, args...)
}

// limit returns an error that wraps [ErrLimit] and names the limit.
func limit(format string, args ...any) error {
	return fault.Text("omega: "+fmt.Sprintf(format, args...), ErrLimit)
}

// unknown returns an error that wraps [ErrUnknown] and names the unknown thing.
func unknown(format string, args ...any) error {
	return fault.Text("omega: unknown "+fmt.Sprintf(format, args...), ErrUnknown)
}

// called returns the name of a machine in errors, or its ID if the cell has no such
// machine any more. It marks a machine of another cell.
func (c *Cell) called(m MachineID) string {
	if m.named() && m.tag() != c.tag {
		return fmt.Sprintf("machine %v of another cell", m)
	}
	if st, ok := c.State(m); ok {
		return fmt.Sprintf("machine %q", st.Name)
	}
	return fmt.Sprintf("machine %v", m)
}

// inUnits returns err, the error of a check of v, with the kind at fault in the names and
// units of the cell's space.
func (c *Cell) inUnits(err error, v *resources.Vector) error {
	for k, q := range v {
		if q < 0 || q > resources.MaxQuantity {
			var one resources.Vector
			one[k] = q
			return fmt.Errorf("%w: %s, want 0 to 2^62", resources.ErrQuantity, c.space.Format(one))
		}
	}
	return err
}

// foreign reports whether a is the ID of an allocation of another cell.
func (c *Cell) foreign(a AllocationID) bool { return a != AllocationID{} && a.tag() != c.tag }
