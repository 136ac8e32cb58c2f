package flow

import (
	"fmt"
	"time"

	"github.com/cellsched/cellsched/omega"
)

// Report is the result of a round. Its slices are the scheduler's, until the next round.
type Report[T comparable] struct {
	// Start are the tasks to start now. They have their allocations, and the tasks that
	// were there have gone.
	Start []Start[T]
	// Stop are the tasks to end where they run. [Scheduler.Stopped] tells the scheduler
	// that one has, unless it is lost. A task that is lost may be in Start, too: handle
	// Stop first.
	Stop []Stop[T]
	// Running counts the tasks that run by the plan, with the tasks that wait to be
	// started; Waiting counts the others.
	Running, Waiting int
	// Limited counts the waiting tasks that lack room within the scheduler's limits, see
	// [omega.Limits]: the plan could not place them.
	Limited int
	// Unfit counts places of the plan without the room, and Conflicts claims that
	// the cell has refused, most of them because others were faster. Both are
	// planned again in the next round.
	Unfit, Conflicts int
	// Beyond counts the machines that exceed the planner's maximum and are not used:
	// see [Config.Cell].
	Beyond int
	// Unslotted, Oversized and Unwilling are how many of the tasks that wait no other
	// task's end will start:
	//
	//	Unslotted  they wait for a slot, and no machine could hold [Config.Slot]
	//	Oversized  they need more than any machine could hold
	//	Unwilling  to wait costs no more than any of their arcs, and will not, as
	//	           where all costs are zero
	//
	// Machines that are added, larger capacities and other costs change that.
	Unslotted, Oversized, Unwilling int
	// Why explains each of these counts by one task and its values. It wraps
	// [ErrSlot], [omega.ErrNeverFits] and [ErrCosts], and is nil if all are 0.
	Why error
	// Next is the time of the first start that waits for allocations preempted by another
	// scheduler; zero if there is none. Another round is worth while at that time, and
	// after a round with Unfit or Conflicts. It is so too when a task has come, ended or
	// stopped, when the cell has changed, or when waiting has become dearer.
	Next time.Time
}

// Start is a task that is to be started.
type Start[T comparable] struct {
	Task       T
	Machine    omega.MachineID
	Allocation omega.AllocationID // the scheduler's, which releases it
}

// Stop is a task that is to be stopped.
type Stop[T comparable] struct {
	Task    T
	Machine omega.MachineID
	Reason  Reason
	// By is when it has to have stopped, where another scheduler has taken its
	// room. The plan's own wait for it.
	By time.Time
}

// Reason is why a task is to stop.
type Reason uint8

// The reasons to stop.
const (
	Preempted Reason = iota // it is to wait, by the plan
	Moved                   // it is to run on another machine, by the plan
	Taken                   // a claim of higher precedence took its place
	Lost                    // its machine was removed: nothing is left to stop
)

// String returns the reason in lower case.
func (r Reason) String() string {
	switch r {
	case Preempted:
		return "preempted"
	case Moved:
		return "moved"
	case Taken:
		return "taken"
	case Lost:
		return "lost"
	}
	return fmt.Sprintf("reason %d", uint8(r))
}
