package live

import (
	"fmt"
	"runtime/debug"
)

// PanicError reports that a callback has panicked. It names the framework, such as for a
// panic of its Handle. It names none for a panic of an [offers.Order] in a Step of the
// master.
type PanicError struct {
	Framework string
	Value     any
	Stack     []byte
}

// Error names the framework and the value of the panic.
func (e *PanicError) Error() string {
	if e == nil {
		return ""
	}
	if e.Framework == "" {
		return fmt.Sprintf("live: step: panic: %v", e.Value)
	}
	return fmt.Sprintf("live: framework %q: panic: %v", e.Framework, e.Value)
}

// Unwrap returns the value of the panic, if that is an error.
func (e *PanicError) Unwrap() error {
	if e == nil {
		return nil
	}
	err, _ := e.Value.(error)
	return err
}

// guard makes a call that may panic, and turns a panic into an error.
func guard(framework string, call func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{framework, v, debug.Stack()}
		}
	}()
	return call()
}
