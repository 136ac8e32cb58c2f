package delay

import (
	"errors"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// Sentinels. Each is wrapped in an error that names the value and the expected one.
// Besides these, [resources.ErrNil] reports a nil argument or receiver, and
// [resources.ErrQuantity] a time, a share or a number out of range.
var (
	// ErrPolicy reports a [Policy] that no job can follow.
	ErrPolicy = errors.New("delay: invalid policy")

	// ErrTime reports an instant before that of an earlier call.
	ErrTime = errors.New("delay: time went backwards")

	// ErrJob reports one of these:
	//   - a job that is not in the [Queue];
	//   - a job that [Queue.Add] cannot add: it is in the queue already, has no
	//     tasks, or has a key that a Go map cannot find again;
	//   - a job that comes twice in the order of [Line.Offer];
	//   - a Queue that [NewQueue] has not made.
	ErrJob = errors.New("delay: wrong job")
)

// refuse returns an error of this package that wraps cause.
func refuse(cause error, format string, args ...any) error {
	return fault.Newf("delay", cause, format, args...)
}

// absent returns an error that wraps [resources.ErrNil] and names the argument. It is
// not inlined, so that the callers stay small: an offer takes 15 ns.
//
//go:noinline
func absent(argument string) error { return refuse(resources.ErrNil, "%s", argument) }
