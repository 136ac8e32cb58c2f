//go:build explore

package atomics

import "sync/atomic"

// Pointer is an atomic.Pointer with operations that can be explored.
type Pointer[T any] struct{ v atomic.Pointer[T] }

// Load is that of atomic.Pointer.
func (p *Pointer[T]) Load() *T { step("load", p, nil); return p.v.Load() }

// Store is that of atomic.Pointer.
func (p *Pointer[T]) Store(v *T) { step("store", p, nil); p.v.Store(v) }

// Swap is that of atomic.Pointer.
func (p *Pointer[T]) Swap(v *T) *T { step("swap", p, nil); return p.v.Swap(v) }

// CompareAndSwap is that of atomic.Pointer.
func (p *Pointer[T]) CompareAndSwap(from, to *T) bool {
	step("compare and swap", p, nil)
	return result(p.v.CompareAndSwap(from, to))
}

// Bool is an atomic.Bool with operations that can be explored.
type Bool struct{ v atomic.Bool }

// Load is that of atomic.Bool.
func (b *Bool) Load() bool { step("load", b, nil); return b.v.Load() }

// Store is that of atomic.Bool.
func (b *Bool) Store(v bool) { step("store", b, nil); b.v.Store(v) }

// Swap is that of atomic.Bool.
func (b *Bool) Swap(v bool) bool { step("swap", b, nil); return b.v.Swap(v) }

// CompareAndSwap is that of atomic.Bool.
func (b *Bool) CompareAndSwap(from, to bool) bool {
	step("compare and swap", b, nil)
	return result(b.v.CompareAndSwap(from, to))
}

// Int32 is an atomic.Int32 with operations that can be explored.
type Int32 struct {
	number[int32, atomic.Int32, *atomic.Int32]
}

// Int64 is an atomic.Int64 with operations that can be explored.
type Int64 struct {
	number[int64, atomic.Int64, *atomic.Int64]
}

// Uint32 is an atomic.Uint32 with operations that can be explored.
type Uint32 struct {
	number[uint32, atomic.Uint32, *atomic.Uint32]
}

// Uint64 is an atomic.Uint64 with operations that can be explored.
type Uint64 struct {
	number[uint64, atomic.Uint64, *atomic.Uint64]
}

// atomicNumber is the constraint that pointers to the integers of sync/atomic satisfy.
type atomicNumber[N, A any] interface {
	*A
	Load() N
	Store(N)
	Swap(N) N
	CompareAndSwap(from, to N) bool
	Add(N) N
	And(N) N
	Or(N) N
}

// number is an integer N, kept in an A of sync/atomic.
type number[N, A any, P atomicNumber[N, A]] struct{ v A }

func (n *number[N, A, P]) Load() N    { step("load", n, nil); return P(&n.v).Load() }
func (n *number[N, A, P]) Store(v N)  { step("store", n, nil); P(&n.v).Store(v) }
func (n *number[N, A, P]) Swap(v N) N { step("swap", n, nil); return P(&n.v).Swap(v) }
func (n *number[N, A, P]) Add(v N) N  { step("add", n, nil); return P(&n.v).Add(v) }
func (n *number[N, A, P]) And(v N) N  { step("and", n, nil); return P(&n.v).And(v) }
func (n *number[N, A, P]) Or(v N) N   { step("or", n, nil); return P(&n.v).Or(v) }

func (n *number[N, A, P]) CompareAndSwap(from, to N) bool {
	step("compare and swap", n, nil)
	return result(P(&n.v).CompareAndSwap(from, to))
}
