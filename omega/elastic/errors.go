package elastic

import (
	"errors"

	"github.com/cellsched/cellsched/internal/fault"
)

// ErrPolicy reports a [Policy] that has a cap above 100 % or a negative bound.
var ErrPolicy = errors.New("elastic: invalid policy")

// ErrJob reports a [Job] or a [Team] that asks for no worker, or counts workers below
// zero.
var ErrJob = errors.New("elastic: invalid job")

// ErrModel reports a [Model] that is nil or predicts a negative time, or a [MapReduce]
// with work that does not go with its activities.
var ErrModel = errors.New("elastic: invalid model")

// ErrRoom reports a [Room] that has a negative number of workers, or more in use than
// there is.
var ErrRoom = errors.New("elastic: invalid room")

// refuse returns an error with the figures, the condition last.
func refuse(cause error, format string, args ...any) error {
	return fault.Newf("elastic", cause, format, args...)
}
