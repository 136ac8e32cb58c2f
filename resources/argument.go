package resources

import "errors"

// ErrNil reports a nil argument or receiver that may not be nil. Methods without an
// error return the result of an empty value.
var ErrNil = errors.New("resources: argument is nil")
