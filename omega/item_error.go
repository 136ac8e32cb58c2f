package omega

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// An ItemError describes an item of a transaction that was not granted. It wraps the
// reason, one of the sentinels of this package.
type ItemError struct {
	Release bool // a release; else a claim
	// Allocation is that of a release. Of a claim it is the allocation that is the
	// reason, if any: a victim, or an allocation that is exchanged for the claim.
	Allocation AllocationID

	Machine MachineID // of a claim, as the fields below
	Name    string    // the machine's name, "" if its number serves another one
	Need    resources.Vector
	// Free is the machine's room for the claim at the moment of the refusal. It is
	// counted after the releases of the transaction, and less its earlier claims there.
	Free      resources.Vector
	Condition Condition // of the machine at that moment
	Changed   bool      // a coarse conflict: Need may well fit in Free
	// Held and Limit are the amounts that the scheduler held and may hold, where that is
	// the reason.
	Held, Limit resources.Vector
	// Precedence is that of the claim, or of the claim of its exchange that is the
	// reason. Lowest and Highest bound the precedence of the scheduler's claims, where
	// that is the reason.
	Precedence, Lowest, Highest Precedence
	// Permitted are the machines that the scheduler may claim, where that is the
	// reason, else nil. It is shared and read only.
	Permitted Mask
	// Victim is the precedence of the victim that is the reason.
	Victim Precedence

	Reason error

	jobless bool   // the limit is that of jobs
	owner   string // the scheduler that has Allocation, where that is the reason
	abroad  bool   // Allocation is of another cell
	space   *resources.Space
}

// Error names the allocation or machine and, with the reason, the values that contradict
// each other, in the names and units of the cell's space.
func (e *ItemError) Error() string {
	reason := "no reason"
	if e.Reason != nil {
		reason = fault.Bare(e.Reason)
	}
	if e.Release {
		return fmt.Sprintf("omega: release of %s: %s", e.allocation(), reason)
	}
	name := strconv.Quote(e.Name)
	if e.Name == "" {
		name = "machine " + e.Machine.String()
	}
	return fmt.Sprintf("omega: claim on %s: %s%s", name, e.detail(), reason)
}

// detail returns the values behind the reason. The reason is to follow them.
func (e *ItemError) detail() string {
	switch {
	case errors.Is(e.Reason, ErrConflict):
		text := fmt.Sprintf("need %s, free %s: ", e.space.Format(e.Need), e.space.Format(e.Free))
		if e.Changed {
			text += "machine changed since the snapshot: "
		}
		return text
	case errors.Is(e.Reason, ErrLimit) && e.jobless:
		return "no job is admitted, want one: "
	case errors.Is(e.Reason, ErrLimit):
		return fmt.Sprintf("need %s, held %s of %s: ", e.space.Format(e.Need), e.space.Format(e.Held), e.space.Format(e.Limit))
	case errors.Is(e.Reason, ErrForbidden) && e.Permitted != nil:
		return fmt.Sprintf("machine %d, want one of %s: ", e.Machine.Node(), e.Permitted.text())
	case errors.Is(e.Reason, ErrForbidden):
		return fmt.Sprintf("precedence %d, want %d to %d: ", e.Precedence, e.Lowest, e.Highest)
	case errors.Is(e.Reason, ErrPrecedence):
		return fmt.Sprintf("victim %v of precedence %d, want one below %d: ", e.Allocation, e.Victim, e.Precedence)
	case e.Allocation != (AllocationID{}):
		return e.allocation() + ": "
	}
	return ""
}

// allocation returns the allocation in words. It adds the owner, or that the allocation
// is of another cell, where that is the reason.
func (e *ItemError) allocation() string {
	switch {
	case e.owner != "":
		return fmt.Sprintf("allocation %v of scheduler %q", e.Allocation, e.owner)
	case e.abroad:
		return fmt.Sprintf("allocation %v of another cell", e.Allocation)
	}
	return fmt.Sprintf("allocation %v", e.Allocation)
}

// Unwrap returns the reason.
func (e *ItemError) Unwrap() error { return e.Reason }
