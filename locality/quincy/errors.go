package quincy

import (
	"errors"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/internal/mcf"
	"github.com/cellsched/cellsched/internal/slots"
	"github.com/cellsched/cellsched/resources"
)

// Sentinels of a planner. The text of an error names the value.
var (
	// ErrUnknown is for tasks, jobs and machines that are not there.
	ErrUnknown = errors.New("quincy: unknown key")
	// ErrDuplicate is for those that are there already.
	ErrDuplicate = errors.New("quincy: key is there already")
	// ErrInUse is for jobs that still have tasks.
	ErrInUse = errors.New("quincy: job is in use")
	// ErrArc is for invalid arcs: no arc, two arcs to one target, a cost beyond [MaxCost],
	// a rate beyond 2^15, or a running task without an arc to its machine. An arc to an
	// unknown machine is [ErrUnknown].
	ErrArc = errors.New("quincy: bad arc")
	// ErrTime is for times that go back, or are beyond 2^28.
	ErrTime = errors.New("quincy: bad time")
	// ErrRange is for figures that are out of range.
	ErrRange = mcf.ErrRange
	// ErrInfeasible is for plans in which not every task can be placed or wait.
	ErrInfeasible = mcf.ErrInfeasible
	// ErrNotOptimal is for plans that cannot be proved optimal: see [Config.Verify].
	ErrNotOptimal = slots.ErrNotOptimal
)

// refuse returns an error that wraps cause and names the operation.
func refuse(cause error, format string, args ...any) error {
	return fault.Newf("quincy", cause, format, args...)
}

// absent returns an error for a nil argument, or a receiver that is nil or was not
// made by a constructor.
func absent(argument string) error { return refuse(resources.ErrNil, "%s", argument) }
