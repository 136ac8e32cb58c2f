package loop

import (
	"errors"
	"fmt"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Errors of calls; nothing has changed then.
var (
	// ErrConfig: a configuration that makes no sense.
	ErrConfig = errors.New("loop: invalid configuration")
	// ErrJob: a job that makes no sense.
	ErrJob = errors.New("loop: invalid job")
	// ErrQueue: as many jobs are pending as [Config.Queue] allows.
	ErrQueue = errors.New("loop: queue is full")
	// ErrBusy: a Step is in progress: in another goroutine, or further up in
	// this one, where a callback called it.
	ErrBusy = errors.New("loop: a step is in progress")
)

// Errors that the Err of an [Event] wraps, in addition to errors of package omega: the
// reasons for the state of a job.
var (
	// ErrAttempts: the job has had as many attempts as it may.
	ErrAttempts = errors.New("loop: attempts of the job are used up")
	// ErrPlace: a [Place] named more machines than there were tasks.
	ErrPlace = errors.New("loop: more tasks were placed than the job has left")
	// ErrInterrupted: a callback panicked in the middle of the attempt.
	ErrInterrupted = errors.New("loop: attempt was interrupted by a panic")
)

// invalid returns an error about a job that makes no sense, which wraps [ErrJob] and
// cause.
func invalid(cause error, format string, args ...any) error {
	return fault.New("loop", fault.Bare(ErrJob)+": "+fmt.Sprintf(format, args...), cause, ErrJob)
}

// absent returns an error that wraps [resources.ErrNil] and names the argument.
func absent(argument string) error { return fault.New("loop", argument, resources.ErrNil) }

// A PanicError is the error of [Loop.Run] after a callback panicked. The loop is in order
// then and can be run again.
type PanicError struct {
	Value any    // the argument of the panic
	Stack []byte // of the panic
	// Allocations are the allocations of the event that [Config.Observe] has
	// panicked on. They are not handed over again.
	Allocations []omega.AllocationID
}

// Error names the value and, last, the stack.
func (e *PanicError) Error() string {
	return fmt.Sprintf("loop: callback panicked: %v\n%s", e.Value, e.Stack)
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
