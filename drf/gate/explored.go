//go:build explore

package gate

import (
	"sync"
	"sync/atomic"
)

// Explored is the hook of a schedule explorer, nil where there is none. It is
// called in place of each atomic operation of gates and seats, and calls do,
// which does the operation and reports whether it succeeded. Ready, where it is
// not nil, reports whether the operation can be done without blocking. Set it
// before any gate is used.
var Explored func(op string, object any, ready, do func() bool)

func explored(op string, object any, ready, do func() bool) {
	if Explored == nil {
		do()
		return
	}
	Explored(op, object, ready, do)
}

type (
	atomicPointer[T any] = value[*T, atomic.Pointer[T], *atomic.Pointer[T]]
	atomicInt64          = number[int64, atomic.Int64, *atomic.Int64]
	atomicUint64         = number[uint64, atomic.Uint64, *atomic.Uint64]
)

// value is a V kept in an A of sync/atomic.
type value[V, A any, P interface {
	*A
	Load() V
	Store(V)
	CompareAndSwap(from, to V) bool
}] struct{ v A }

func (x *value[V, A, P]) Load() (v V) {
	explored("load", x, nil, func() bool { v = P(&x.v).Load(); return true })
	return v
}

func (x *value[V, A, P]) Store(v V) {
	explored("store", x, nil, func() bool { P(&x.v).Store(v); return true })
}

func (x *value[V, A, P]) CompareAndSwap(from, to V) (swapped bool) {
	explored("compare and swap", x, nil, func() bool {
		swapped = P(&x.v).CompareAndSwap(from, to)
		return swapped
	})
	return swapped
}

// number is a value that can be added to.
type number[V, A any, P interface {
	*A
	Load() V
	Store(V)
	CompareAndSwap(from, to V) bool
	Add(V) V
}] struct{ value[V, A, P] }

func (n *number[V, A, P]) Add(v V) (sum V) {
	explored("add", &n.value, nil, func() bool { sum = P(&n.v).Add(v); return true })
	return sum
}

// mutex is a sync.Mutex.
type mutex struct{ mu sync.Mutex }

func (m *mutex) Lock() {
	free := func() bool {
		free := m.mu.TryLock()
		if free {
			m.mu.Unlock()
		}
		return free
	}
	explored("lock", m, free, func() bool { m.mu.Lock(); return true })
}

func (m *mutex) Unlock() {
	explored("unlock", m, nil, func() bool { m.mu.Unlock(); return true })
}
