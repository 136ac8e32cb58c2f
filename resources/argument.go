package resources

import "errors"

// ErrNil reports an argument, or the value that a method is called on, that is nil
// and may not be. Methods without an error return what an empty value would.
var ErrNil = errors.New("resources: argument is nil")
