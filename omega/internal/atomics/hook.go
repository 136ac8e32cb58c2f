//go:build explore

package atomics

import "sync/atomic"

// Hook receives the operations of an exploration's running thread.
type Hook struct {
	// Step is called before each operation on object. It returns when it is the
	// thread's turn to do it, and ready, unless it is nil, has just said that
	// it can be done.
	Step func(op string, object any, ready func() bool)
	// Result is called with what came of an operation that may fail.
	Result func(ok bool)
	// Choose returns a number below n where the standard library draws lots.
	Choose func(n int) int
}

// hook is that of the thread which is running, nil while none is. Threads run one at a
// time and no other goroutine may use this package meanwhile, so it identifies the
// caller.
var hook atomic.Pointer[Hook]

// SetHook makes h the hook of the thread that runs from now on; nil: none does.
func SetHook(h *Hook) { hook.Store(h) }

func step(op string, object any, ready func() bool) {
	if h := hook.Load(); h != nil {
		h.Step(op, object, ready)
	}
}

// result passes on what came of an operation.
func result(ok bool) bool {
	if h := hook.Load(); h != nil {
		h.Result(ok)
	}
	return ok
}

// Do is an operation of another package's atomics: its arguments are those of
// Hook.Step, and do does it and reports whether it succeeded.
func Do(op string, object any, ready, do func() bool) {
	step(op, object, ready)
	result(do())
}
