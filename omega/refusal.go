package omega

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// Errors of searches for room.
var (
	// ErrNoRoom reports that a search found no room, or for a gang not enough.
	ErrNoRoom = errors.New("omega: no room")
	// ErrNeverFits reports a need for which no release can make room: the machines that
	// may be used could not hold it if they were empty.
	ErrNeverFits = errors.New("omega: need can never fit")
)

// RefusalError describes the need, or the release, that was refused. It wraps the reason,
// a sentinel of this package. It is about
//
//   - an item of a transaction: see [Txn.Err];
//   - a search, for Tasks of one need: [ErrNoRoom] or [ErrNeverFits];
//   - a wait for needs that the machines can never hold: [ErrNeverFits], with a
//     Scheduler.
type RefusalError struct {
	Reason error
	Need   resources.Vector
	// Space has the names and units of the text, nil for a generic one.
	Space *resources.Space

	Release bool // a release; else a claim or a search
	// Allocation is that of the release, or the victim or exchanged allocation that is the
	// reason.
	Allocation AllocationID

	Machine MachineID // of a claim, as the fields below
	Name    string    // the machine's name, "" if its number serves another one
	// Free is the machine's room for the claim then, after the transaction's releases and
	// earlier claims there.
	Free      resources.Vector
	Condition Condition // of the machine at that moment
	Changed   bool      // a coarse conflict: Need may well fit in Free
	// Held and Limit: the scheduler's usage and its limit, if the limit is the reason.
	Held, Limit resources.Vector
	// Precedence is that of the claim; Lowest and Highest are the bounds of the scheduler,
	// if these are the reason.
	Precedence, Lowest, Highest Precedence
	// Permitted is the scheduler's mask, read only, if that is the reason.
	Permitted Mask
	// Victim is the precedence of the victim that is the reason.
	Victim Precedence

	// Tasks is the number of tasks of a search, Found of those with room. For a wait Tasks
	// is the number of needs that Need is the sum of.
	Tasks, Found int
	// Why counts the machines of a search, if it was asked for, or those of a wait that may
	// be claimed.
	Why *Explanation
	// Scheduler waits. Capacity is the most of each kind on a machine, for a gang the sum.
	Scheduler string
	Capacity  resources.Vector

	jobless bool   // the limit is that of jobs
	owner   string // the scheduler that has Allocation, where that is the reason
	abroad  bool   // Allocation is of another cell
}

// Error names the allocation, machine or search and the values that contradict each
// other, in the names and units of the cell's space.
func (e *RefusalError) Error() string {
	reason := "no reason"
	if e.Reason != nil {
		reason = fault.Bare(e.Reason)
	}
	switch {
	case e.Release:
		return fmt.Sprintf("omega: release of %s: %s", e.allocation(), reason)
	case e.Scheduler != "":
		return fmt.Sprintf("omega: scheduler %q: %s%s", e.Scheduler, e.detail(), reason)
	case e.Tasks > 0:
		text := fmt.Sprintf("need %d x %s, missing room for %d", e.Tasks, e.Space.Format(e.Need), e.Tasks-e.Found)
		if e.Why != nil {
			text += " (" + e.Why.Format(e.Space) + ")"
		}
		return fmt.Sprintf("omega: %s: %s", text, reason)
	}
	name := strconv.Quote(e.Name)
	if e.Name == "" {
		name = "machine " + e.Machine.String()
	}
	return fmt.Sprintf("omega: claim on %s: %s%s", name, e.detail(), reason)
}

// detail returns the values behind the reason. The reason is to follow them.
func (e *RefusalError) detail() string {
	switch {
	case errors.Is(e.Reason, ErrNeverFits):
		return e.never() + ": "
	case errors.Is(e.Reason, ErrConflict), errors.Is(e.Reason, ErrNoRoom):
		text := fmt.Sprintf("need %s, free %s: ", e.Space.Format(e.Need), e.Space.Format(e.Free))
		if e.Changed {
			text += "machine changed since the snapshot: "
		}
		return text
	case errors.Is(e.Reason, ErrLimit) && (e.jobless || e.Limit == resources.Vector{} && e.Scheduler != ""):
		return "no job is admitted, want one: "
	case errors.Is(e.Reason, ErrLimit):
		return fmt.Sprintf("need %s, held %s of %s: ", e.Space.Format(e.Need), e.Space.Format(e.Held), e.Space.Format(e.Limit))
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
func (e *RefusalError) allocation() string {
	switch {
	case e.owner != "":
		return fmt.Sprintf("allocation %v of scheduler %q", e.Allocation, e.owner)
	case e.abroad:
		return fmt.Sprintf("allocation %v of another cell", e.Allocation)
	}
	return fmt.Sprintf("allocation %v", e.Allocation)
}

// Unwrap returns the reason.
func (e *RefusalError) Unwrap() error { return e.Reason }

// never returns the need of a wait, the capacity, and the missing part.
func (e *RefusalError) never() string {
	need, of := "need "+e.Space.Format(e.Need), "largest of"
	if e.Tasks > 1 {
		need, of = fmt.Sprintf("gang of %d needs %s", e.Tasks, e.Space.Format(e.Need)), "capacity of"
	}
	machines := 0
	if e.Why != nil {
		machines = e.Why.Machines
	}
	switch missing := missing(&e.Need, &e.Capacity); {
	case machines == 0:
		return need + ", no machine to claim"
	case missing != resources.Vector{}:
		return fmt.Sprintf("%s, %s %d machines %s, missing %s", need, of, machines, e.Space.Format(e.Capacity), e.Space.Format(missing))
	case e.Tasks > 1:
		return fmt.Sprintf("%s, %s %d machines %s, in parts that are too small", need, of, machines, e.Space.Format(e.Capacity))
	}
	return fmt.Sprintf("%s, none of %d machines has all of it, at most %s", need, machines, e.Space.Format(e.Capacity))
}
