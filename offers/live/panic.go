package live

import (
	"fmt"
	"runtime/debug"
)

// PanicError says that a callback has panicked: what was called for a framework,
// such as its Handle, or, if it names none, an [offers.Order] in a Step of the
// master.
type PanicError struct {
	Framework string
	Value     any
	Stack     []byte
}

// Error names the framework and what it panicked with.
func (e *PanicError) Error() string {
	if e == nil {
		return ""
	}
	if e.Framework == "" {
		return fmt.Sprintf("live: step: panic: %v", e.Value)
	}
	return fmt.Sprintf("live: framework %q: panic: %v", e.Framework, e.Value)
}

// Unwrap returns what it panicked with, if that is an error.
func (e *PanicError) Unwrap() error {
	if e == nil {
		return nil
	}
	err, _ := e.Value.(error)
	return err
}

// guard calls what may panic, and turns that into an error.
func guard(framework string, call func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{framework, v, debug.Stack()}
		}
	}()
	return call()
}
