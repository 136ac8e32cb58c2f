package late

import (
	"errors"
	"math"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// ErrAttempt reports an [Attempt] that does not run: it has finished or failed,
// lost to its twin, or is of another job.
var ErrAttempt = errors.New("late: no such attempt")

// ErrCopied reports a task that has a copy already.
var ErrCopied = errors.New("late: task has a copy already")

// ErrCap reports that as many copies run as the cap allows.
var ErrCap = errors.New("late: too many copies")

// ErrNode reports a node that the book does not know, or that runs the original of
// the attempt to copy.
var ErrNode = errors.New("late: unusable node")

// ErrProgress reports a progress outside [0, 1], or less than before.
var ErrProgress = errors.New("late: invalid progress")

// ErrTime reports an instant before that of an earlier call.
var ErrTime = errors.New("late: time went backwards")

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
	return refuse(ErrNode, "%s: node %d, want one below %d", op, n, nodes)
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
