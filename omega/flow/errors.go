package flow

import (
	"errors"
	"fmt"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Errors of calls, in addition to errors of packages quincy and omega. A failed call has
// changed nothing.
var (
	// ErrConfig: a configuration that makes no sense.
	ErrConfig = errors.New("flow: invalid configuration")
	// ErrUnknown: there is no such task.
	ErrUnknown = errors.New("flow: unknown task")
	// errRuns: the task was not told to stop.
	errRuns = fault.Text("flow: task was not told to stop", ErrUnknown)
	// ErrBusy: a round is in progress, and the call is not for that time.
	ErrBusy = errors.New("flow: a round is in progress")
)

// absent returns an error that wraps [resources.ErrNil] and names the argument.
func absent(argument string) error { return fault.New("flow", argument, resources.ErrNil) }

// about returns an error about a task, for a cause.
func about[T comparable](t T, cause error) error {
	return fault.Newf("flow", cause, "task %s", fault.Key(t))
}

// why returns why need is refused on m, where so much is left.
func (m *machine[J, T]) why(need, left resources.Vector, space *resources.Space) error {
	switch {
	case m.forbidden:
		return fault.Newf("flow", omega.ErrForbidden, "on %q", m.name)
	case m.cond != omega.Ready:
		return fmt.Errorf("flow: on %q: machine is %v", m.name, m.cond)
	}
	return &omega.RefusalError{Reason: omega.ErrNoRoom, Machine: m.id, Name: m.name, Need: need, Free: left, Condition: m.cond, Space: space}
}
