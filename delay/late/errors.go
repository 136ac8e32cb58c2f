package late

import (
	"errors"
	"math"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// ErrCall reports a call with an argument that makes no sense now: an attempt that does not run
// or has a copy, an unusable node, an invalid progress, or an instant before that of an earlier
// call. The text says which.
var ErrCall = errors.New("late: invalid call")

// errAttempt reports an [Attempt] that does not run: it has finished or failed,
// lost to its twin, or is of another job.
var errAttempt = fault.Text("late: no such attempt", ErrCall)

// errCopied reports a task that has a copy already.
var errCopied = fault.Text("late: task has a copy already", ErrCall)

// ErrCap reports that as many copies run as the cap allows.
var ErrCap = errors.New("late: too many copies")

// errNode reports a node that the book does not know, or that runs the original of
// the attempt to copy.
var errNode = fault.Text("late: unusable node", ErrCall)

// errProgress reports a progress outside [0, 1], or less than before.
var errProgress = fault.Text("late: invalid progress", ErrCall)

// errTime reports an instant before that of an earlier call.
var errTime = fault.Text("late: time went backwards", ErrCall)

// ErrPolicy reports a [Policy] with a field out of range.
var ErrPolicy = errors.New("late: invalid policy")

// ErrSize reports a number of nodes, slots or tasks, a duration or a speed that is
// out of range or not a number.
var ErrSize = errors.New("late: invalid size")

// refuse returns an error of this package that wraps cause.
func refuse(cause error, format string, args ...any) error {
	return fault.Newf("late", cause, format, args...)
}

// absent returns an error that wraps [resources.ErrNil] and names the argument.
func absent(argument string) error { return refuse(resources.ErrNil, "%s", argument) }

func badNode(op string, n locality.Node, nodes int) error {
	return refuse(errNode, "%s: node %d, want one below %d", op, n, nodes)
}

// share reports whether v is from 0 to 1; NaN is not.
func share(v float64) bool { return v >= 0 && v <= 1 }

// nanos is a number of nanoseconds as a duration, the longest one if it is more.
func nanos(v float64) time.Duration {
	if v >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(v)
}
