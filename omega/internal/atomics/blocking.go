//go:build explore

package atomics

import (
	"context"
	"sync"
)

// Mutex is a sync.Mutex for which a thread of an exploration waits without
// blocking the others, and where all waiting for one another is reported.
type Mutex struct{ mu sync.Mutex }

// Lock is that of sync.Mutex.
func (m *Mutex) Lock() {
	step("lock", m, func() bool {
		free := m.mu.TryLock()
		if free {
			m.mu.Unlock()
		}
		return free
	})
	m.mu.Lock()
}

// Unlock is that of sync.Mutex.
func (m *Mutex) Unlock() { step("unlock", m, nil); m.mu.Unlock() }

// Event is something that happens once, with a value, and that one goroutine
// waits for. Make it with [NewEvent]; copies are the same event. It is safe for
// concurrent use.
type Event[T any] struct{ fired chan T }

// NewEvent returns an event that has not happened yet.
func NewEvent[T any]() Event[T] { return Event[T]{make(chan T, 1)} }

// Fire makes the event happen. It never blocks, and is called once at most.
func (e Event[T]) Fire(v T) {
	step("fire", e.fired, nil)
	e.fired <- v
}

// Wait blocks until the event has happened and returns its value, or false once
// ctx is done. If both are so it may be either, and both are explored. Only one
// Wait gets the value.
func (e Event[T]) Wait(ctx context.Context) (v T, ok bool) {
	step("wait", e.fired, func() bool { return len(e.fired) > 0 || ctx.Err() != nil })
	happened := len(e.fired) > 0
	if h := hook.Load(); h != nil && happened && ctx.Err() != nil && h.Choose(2) == 1 {
		return v, false
	}
	if happened {
		return <-e.fired, true
	}
	select {
	case v = <-e.fired:
		return v, true
	case <-ctx.Done():
		return v, false
	}
}
