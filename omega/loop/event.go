package loop

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/cellsched/cellsched/omega"
)

// Kind is the kind of an [Event] of a job.
type Kind uint8

// The kinds of events. Every job has one Submitted, any number of the next
// six, and at last Complete, Abandoned, Expired or Cancelled. A Preempted comes
// after the Placed that handed over its allocation, before or after that end.
const (
	Submitted Kind = iota + 1
	Placed         // tasks were granted: Allocations
	BackedOff      // tasks are left and tried again at Until; Err is why
	// PassedUp: tasks are left, and the Place has passed up room for them. They are
	// tried again at Until, or when machines change. It counts against no limit of
	// attempts.
	PassedUp
	InDoubt   // a commit's outcome is unknown; it is asked for again at Until
	Parked    // it can never fit as the machines are; Err is why
	Unparked  // the machines have changed
	Complete  // all its tasks are placed
	Abandoned // for the reason Err, also a claim refused for good; placed tasks stay the caller's
	Expired   // its deadline has passed; placed tasks stay the caller's
	Cancelled // placed tasks stay the caller's
	// Preempted: an allocation that a Placed event has handed over was preempted or lost:
	// Mark. There is one event for each allocation that is not released by then.
	//
	// The caller has the task stopped until the time in Until and then releases the
	// allocation. The loop only reports it. It neither releases it nor places the task
	// again: only the caller knows how far the task has come and whether it may end by
	// then. A task that is to run again is a job of one task to submit, which the hook
	// may do. A gang keeps its other tasks when one is preempted.
	Preempted
)

var kindNames = [...]string{
	Submitted: "submitted", Placed: "placed", BackedOff: "backed off", PassedUp: "passed up", InDoubt: "in doubt", Parked: "parked",
	Unparked: "unparked", Complete: "complete", Abandoned: "abandoned", Expired: "expired", Cancelled: "cancelled",
	Preempted: "preempted",
}

// String returns the kind in lower case.
func (k Kind) String() string {
	if int(k) < len(kindNames) && k > 0 {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Event is a change of a job at one moment: a line of the loop's log. It is a
// [slog.LogValuer]:
//
//	Observe: func(e loop.Event[string]) { slog.Info("scheduler", "job", e) }
type Event[K any] struct {
	Kind     Kind
	At       time.Time
	Pending  *Pending[K]
	Left     int // tasks to be placed yet
	Attempts int // so far
	// Allocations are the allocations that a Placed event hands over. From then on the
	// caller releases them. The slice is the caller's too.
	Allocations []omega.AllocationID
	// Tasks are the tasks to run on each of Allocations, if a [Near] placed them. It
	// is nil otherwise: the tasks of a job are alike.
	Tasks []Task
	// Mark belongs to a Preempted event: the allocation, the cause (preempted, or
	// lost with its machine), and the scheduler that preempted it. It is nil in
	// other events.
	Mark  *omega.Mark
	Until time.Time
	Err   error
}

// LogValue returns the event as a group, without fields that say nothing.
func (e Event[K]) LogValue() slog.Value {
	attrs := make([]slog.Attr, 0, 10)
	attrs = append(attrs, slog.Any("key", e.Pending.job.Key), slog.String("event", e.Kind.String()))
	if n := len(e.Allocations); n > 0 {
		attrs = append(attrs, slog.Int("placed", n))
	}
	attrs = append(attrs, slog.Int("left", e.Left), slog.Int("attempts", e.Attempts))
	if e.Kind != Submitted {
		attrs = append(attrs, slog.Duration("age", e.At.Sub(e.Pending.submitted)))
	}
	if m := e.Mark; m != nil {
		attrs = append(attrs, slog.String("allocation", m.Allocation.ID.String()), slog.String("fate", m.Fate.String()))
		if m.By != "" {
			attrs = append(attrs, slog.String("by", m.By))
		}
		if !e.Until.IsZero() {
			attrs = append(attrs, slog.Duration("stop_in", e.Until.Sub(e.At)))
		}
	} else if !e.Until.IsZero() {
		attrs = append(attrs, slog.Duration("retry_in", e.Until.Sub(e.At)))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.String("err", e.Err.Error()))
	}
	return slog.GroupValue(attrs...)
}
