package flow

import (
	"errors"
	"fmt"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Errors of calls, besides those of packages quincy and omega; nothing has changed then.
var (
	// ErrConfig: a configuration that makes no sense.
	ErrConfig = errors.New("flow: invalid configuration")
	// ErrUnknown: there is no such task.
	ErrUnknown = errors.New("flow: unknown task")
	// ErrRuns: the task was not told to stop.
	ErrRuns = errors.New("flow: task was not told to stop")
	// ErrBusy: a round is in progress, and the call is not for that time.
	ErrBusy = errors.New("flow: a round is in progress")
)

// ErrRoom is the sentinel that a [RoomError] wraps: a task does not fit where the plan
// has sent it.
var ErrRoom = errors.New("flow: task does not fit on the machine")

// A RoomError reports the need of a task on a machine, and the room that was left for it
// there: after the promises before it, and with all leaving tasks gone.
type RoomError struct {
	Machine    string
	Need, Free resources.Vector

	space *resources.Space
}

// Error names the machine, the need and the missing part of it, in the names and units of
// the cell's space.
func (e *RoomError) Error() string {
	return fmt.Sprintf("flow: on %q: need %s, %s: %s", e.Machine, e.space.Format(e.Need), missing(e.Need, e.Free, e.space), fault.Bare(ErrRoom))
}

// missing names what of need is not in free.
func missing(need, free resources.Vector, space *resources.Space) string {
	for k, q := range need {
		need[k] = max(0, q-free[k])
	}
	return "missing " + space.Format(need)
}

// Unwrap returns [ErrRoom].
func (e *RoomError) Unwrap() error { return ErrRoom }

// absent returns an error that wraps [resources.ErrNil] and names the argument.
func absent(argument string) error { return fault.New("flow", argument, resources.ErrNil) }

// about returns an error about a task, for a cause.
func about[T comparable](t T, cause error) error {
	return fault.Newf("flow", cause, "task %s", fault.Key(t))
}

// why returns why need is refused on m, where so much is left.
func (m *machine[J, T]) why(need, left resources.Vector, space *resources.Space) error {
	switch {
	case m.barred:
		return fault.Newf("flow", omega.ErrForbidden, "on %q", m.name)
	case m.cond != omega.Ready:
		return fmt.Errorf("flow: on %q: machine is %v", m.name, m.cond)
	}
	return &RoomError{Machine: m.name, Need: need, Free: left, space: space}
}
