package locality

import (
	"errors"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// Sentinels of calls on machines and constraints. Each is wrapped in an error that
// names the value and the expected one.
var (
	// ErrNode: a node that is not known, or not below [MaxNodes].
	ErrNode = errors.New("locality: no such node")
	// ErrConstraint: a number that no predicate was registered under.
	ErrConstraint = errors.New("locality: no such constraint")
	// ErrType: a number where the attribute is text, or text where it is a
	// number.
	ErrType = errors.New("locality: attribute is of another type")
	// ErrName: a name of a level, a group or an attribute, or a text of an
	// attribute, that [resources.CheckName] refuses. The error wraps
	// [resources.ErrName] besides.
	ErrName = errors.New("locality: invalid name")
)

// refuse returns an error that wraps cause and names the operation.
func refuse(cause error, format string, args ...any) error {
	return fault.Newf("locality", cause, format, args...)
}

// absent returns an error that wraps [resources.ErrNil] and names the argument.
func absent(argument string) error { return refuse(resources.ErrNil, "%s", argument) }

// checkName returns an error unless name can be the name of a thing of this kind.
func checkName(kind, name string) error {
	if err := resources.CheckName(name); err != nil {
		return fault.New("locality", kind, err, ErrName)
	}
	return nil
}

// checkText returns an error unless an attribute can have v. A text may be empty,
// for attributes that only are there or not.
func checkText(attribute string, v Value) error {
	if v.text == "" {
		return nil
	}
	if err := checkName("text", v.text); err != nil {
		return refuse(err, "attribute %q", attribute)
	}
	return nil
}
