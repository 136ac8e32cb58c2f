package loop

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/cellsched/cellsched/omega"
)

// Kind is what happened to a job.
type Kind uint8

// The kinds of events. Every job has one Submitted, any number of the next
// five, and at last Complete, Abandoned, Expired or Cancelled.
const (
	Submitted Kind = iota + 1
	Placed         // tasks were granted: Allocations
	BackedOff      // tasks are left and tried again at Until; Err is why
	InDoubt        // a commit's outcome is unknown; it is asked for again at Until
	Parked         // it can never fit as the machines are; Err is why
	Unparked       // the machines have changed
	Complete       // all its tasks are placed
	Abandoned      // Err is why; what was placed stays the caller's
	Expired        // its deadline has passed; what was placed stays the caller's
	Cancelled      // what was placed stays the caller's
)

var kindNames = [...]string{
	Submitted: "submitted", Placed: "placed", BackedOff: "backed off", InDoubt: "in doubt", Parked: "parked",
	Unparked: "unparked", Complete: "complete", Abandoned: "abandoned", Expired: "expired", Cancelled: "cancelled",
}

// String returns the kind in lower case.
func (k Kind) String() string {
	if int(k) < len(kindNames) && k > 0 {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Event is what became of a job at one moment: a line of the loop's log. It is
// a [slog.LogValuer]:
//
//	Observe: func(e loop.Event[string]) { slog.Info("scheduler", "job", e) }
type Event[K any] struct {
	Kind     Kind
	At       time.Time
	Pending  *Pending[K]
	Left     int // tasks to be placed yet
	Attempts int // so far
	// Allocations are what a Placed event hands over, to the caller who from
	// then on releases them. The slice is the caller's too.
	Allocations []omega.AllocationID
	Until       time.Time
	Err         error
}

// LogValue returns the event as a group, without fields that say nothing.
func (e Event[K]) LogValue() slog.Value {
	attrs := make([]slog.Attr, 0, 8)
	attrs = append(attrs, slog.Any("key", e.Pending.job.Key), slog.String("event", e.Kind.String()))
	if n := len(e.Allocations); n > 0 {
		attrs = append(attrs, slog.Int("placed", n))
	}
	attrs = append(attrs, slog.Int("left", e.Left), slog.Int("attempts", e.Attempts))
	if e.Kind != Submitted {
		attrs = append(attrs, slog.Duration("age", e.At.Sub(e.Pending.submitted)))
	}
	if !e.Until.IsZero() {
		attrs = append(attrs, slog.Duration("retry_in", e.Until.Sub(e.At)))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.String("err", e.Err.Error()))
	}
	return slog.GroupValue(attrs...)
}
