package locality

import "errors"

// What calls on machines and constraints fail with, wrapped in an error that
// names the value and what was expected.
var (
	// ErrNode: a node that is not known, or not below [MaxNodes].
	ErrNode = errors.New("locality: no such node")
	// ErrConstraint: a number that no predicate was registered under.
	ErrConstraint = errors.New("locality: no such constraint")
	// ErrType: a number where the attribute is text, or text where it is a
	// number.
	ErrType = errors.New("locality: attribute is of another type")
)
