package flow

import (
	"errors"
	"fmt"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// What a call can fail with, besides the errors of packages quincy and omega;
// nothing has changed then.
var (
	// ErrConfig: a configuration that makes no sense.
	ErrConfig = errors.New("flow: invalid configuration")
	// ErrUnknown: there is no such task.
	ErrUnknown = errors.New("unknown task")
	// ErrRuns: the task was not told to stop.
	ErrRuns = errors.New("was not told to stop")
)

// ErrRoom is what a [RoomError] wraps: a task does not fit where the plan has
// sent it.
var ErrRoom = errors.New("does not fit")

// A RoomError says what a task needed on a machine, and what was left for it
// there after those before it and with all that are leaving gone.
type RoomError struct {
	Machine    string
	Need, Free resources.Vector

	space *resources.Space
}

// Error names the machine and both amounts, in the names and units of the cell's
// space.
func (e *RoomError) Error() string {
	if e.space == nil {
		return fmt.Sprintf("flow: on %q: need %v, free %v: %v", e.Machine, e.Need, e.Free, ErrRoom)
	}
	return fmt.Sprintf("flow: on %q: need %s, free %s: %v", e.Machine, e.space.Format(e.Need), e.space.Format(e.Free), ErrRoom)
}

// Unwrap returns [ErrRoom].
func (e *RoomError) Unwrap() error { return ErrRoom }

// why returns why need is refused on m, where so much is left.
func (m *machine[J, T]) why(need, left resources.Vector, space *resources.Space) error {
	switch {
	case m.barred:
		return fmt.Errorf("flow: on %q: %w", m.name, omega.ErrForbidden)
	case m.cond != omega.Ready:
		return fmt.Errorf("flow: on %q: machine is %v", m.name, m.cond)
	}
	return &RoomError{Machine: m.name, Need: need, Free: left, space: space}
}
