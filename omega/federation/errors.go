package federation

import (
	"errors"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

var (
	// ErrInvalid reports a value that makes no sense where it is given: in a
	// configuration, a job, a message.
	ErrInvalid = errors.New("federation: invalid value")
	// ErrUnknown reports a name, of a master or a task, that is not known there.
	ErrUnknown = errors.New("federation: unknown name")
	// ErrSuperseded reports that a successor has taken over: of a global master with
	// a higher epoch, or of a verifier with a higher incarnation.
	ErrSuperseded = errors.New("federation: superseded by a successor")
)

// invalid returns an ErrInvalid that names the value and what was expected.
func invalid(format string, args ...any) error {
	return fault.Newf("federation", ErrInvalid, format, args...)
}

// unknown returns an ErrUnknown that names the value and what was expected.
func unknown(format string, args ...any) error {
	return fault.Newf("federation", ErrUnknown, format, args...)
}

// absent returns a resources.ErrNil that says what is missing.
func absent(what string) error { return fault.New("federation", what, resources.ErrNil) }
