//go:build !explore

package atomics

import (
	"context"
	"sync"
	"sync/atomic"
)

// Pointer is atomic.Pointer.
type Pointer[T any] = atomic.Pointer[T]

// Bool is atomic.Bool.
type Bool = atomic.Bool

// Int32 is atomic.Int32.
type Int32 = atomic.Int32

// Int64 is atomic.Int64.
type Int64 = atomic.Int64

// Uint32 is atomic.Uint32.
type Uint32 = atomic.Uint32

// Uint64 is atomic.Uint64.
type Uint64 = atomic.Uint64

// Mutex is sync.Mutex.
type Mutex = sync.Mutex

// Event is something that happens once, with a value, and that one goroutine
// waits for. Make it with [NewEvent]; copies are the same event. It is safe for
// concurrent use.
type Event[T any] struct{ fired chan T }

// NewEvent returns an event that has not happened yet.
func NewEvent[T any]() Event[T] { return Event[T]{make(chan T, 1)} }

// Fire makes the event happen. It never blocks, and is called once at most.
func (e Event[T]) Fire(v T) { e.fired <- v }

// Wait blocks until the event has happened and returns its value, or false once
// ctx is done. If both are so it may be either. Only one Wait gets the value.
func (e Event[T]) Wait(ctx context.Context) (v T, ok bool) {
	select {
	case v = <-e.fired:
		return v, true
	case <-ctx.Done():
		return v, false
	}
}
