package trace

import (
	"errors"
	"fmt"
)

// Errors of reading: an [Error] wraps one of them, or the error of the reader
// underneath.
var (
	// ErrCut: the file ends in the middle of a line, or of a job, or before the
	// first job, machine or user.
	ErrCut = errors.New("the file was cut")
	// ErrColumns: a line, or the header, has other columns than expected.
	ErrColumns = errors.New("wrong columns")
	// ErrValue: a value does not suit its column, or is out of range.
	ErrValue = errors.New("invalid value")
	// ErrUser: a user that is not in the table of users.
	ErrUser = errors.New("unknown user")
	// ErrOrder: a job was submitted before one that was read much earlier.
	ErrOrder = errors.New("out of order")
	// ErrSyntax: it is not the format that it is read as.
	ErrSyntax = errors.New("not the format")
	// ErrLong: a line or a value is longer than any should be.
	ErrLong = errors.New("too long")
)

// An Error is a place where a file is not as it should be, with the value there and the
// expected one. It wraps the reason.
type Error struct {
	File         string
	Line, Column int    // from 1, of bytes
	Detail       string // the value there, the expected one
	Reason       error
}

// Error returns one line of text, the reason last.
func (e *Error) Error() string {
	return fmt.Sprintf("trace: %s:%d:%d: %s: %v", e.File, e.Line, e.Column, e.Detail, e.Reason)
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Reason }
