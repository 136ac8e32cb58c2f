package reclaim

import (
	"math"

	"github.com/cellsched/cellsched/omega/internal/atomics"
)

// Object is a V that words point to. The zero Object has no maker, and is never used
// again. The exported field belongs to its maker until the object is in a word, and is
// read only from then on.
type Object[V any] struct {
	// maker is written once, before the object is in a word: the one field that may be
	// read of an object that is not kept.
	maker uint32
	kept  atomics.Bool // whether others than the maker may read it; never reset

	V V
}

// Word is an atomic pointer to an Object. The zero Word points to none.
type Word[V any] struct{ cur atomics.Pointer[Object[V]] }

// Seen is the object that a word had. It may be compared, and not read.
type Seen[V any] struct{ obj *Object[V] }

// Is reports whether an object was seen. Either it is kept, or the caller is its maker.
func (s Seen[V]) Is(obj *Object[V]) bool { return s.obj == obj }

// For returns the object if a maker's goroutine may read it as it is, else nil: then the
// word keeps it.
func (s Seen[V]) For(maker uint32) *Object[V] {
	if s.obj.maker == 0 || s.obj.maker == maker {
		return s.obj
	}
	return nil
}

// Touch loads a part of the object, for the caches alone.
func (s Seen[V]) Touch() bool { return s.obj.maker != 0 }

// Peek returns what the word has, to be compared.
func (w *Word[V]) Peek() Seen[V] { return Seen[V]{w.cur.Load()} }

// Keep returns the object in the word, for any goroutine to read for ever, or nil. It
// linearizes at its last load of the word. It repeats only if the word was swapped.
func (w *Word[V]) Keep() *Object[V] { return w.KeepFor(0) }

// KeepFor is Keep for the goroutine of a maker. It does not keep the maker's own
// objects. The maker may read them until it retires them.
func (w *Word[V]) KeepFor(maker uint32) *Object[V] {
	for {
		obj := w.cur.Load()
		if obj == nil || obj.maker == 0 || obj.maker == maker {
			return obj
		}
		if !obj.kept.Load() {
			obj.kept.Store(true)
		}
		if w.cur.Load() == obj {
			return obj
		}
	}
}

// CompareAndSwap swaps the word. The caller has kept the old object, or made it.
func (w *Word[V]) CompareAndSwap(from, to *Object[V]) bool { return w.cur.CompareAndSwap(from, to) }

// Store puts an object into a word that no other goroutine knows yet, or drops the object
// of a word that no goroutine swaps.
func (w *Word[V]) Store(obj *Object[V]) { w.cur.Store(obj) }

// Spares is how many spare objects a maker has at most.
const Spares = 1 << 10

// Maker makes objects and uses them again. It belongs to one goroutine at a time.
type Maker[V any] struct {
	number uint32
	spare  []*Object[V] // in no word, and in no other goroutine's hands
}

// NewMaker returns a maker with a number that no other has, from 1. There are numbers of
// 32 bits: a maker with a larger one uses no object again.
func NewMaker[V any](number uint64) Maker[V] {
	if number > math.MaxUint32 {
		number = 0
	}
	return Maker[V]{number: uint32(number)}
}

// Number returns the number of the maker, for [Word.KeepFor].
func (m *Maker[V]) Number() uint32 { return m.number }

// Spare returns an object to be put into a word by a swap of its own, or nil if the maker
// has none. Its value still holds the data of an earlier use.
func (m *Maker[V]) Spare() *Object[V] {
	last := len(m.spare) - 1
	if last < 0 {
		return nil
	}
	obj := m.spare[last] // the one that has most likely stayed in a cache
	m.spare[last] = nil  // else it would keep the object alive once that has left its word
	m.spare = m.spare[:last]
	return obj
}

// Own makes a new object one of the maker's. No word has had it.
func (m *Maker[V]) Own(obj *Object[V]) { obj.maker = m.number }

// Return gives back an object of the maker's that no word has had since it was new or
// spare. A maker that has [Spares] objects leaves it to the collector.
func (m *Maker[V]) Return(obj *Object[V]) {
	if len(m.spare) < Spares {
		m.spare = append(m.spare, obj)
	}
}

// Retire is to be called for an object that the maker, or a helper of it, took out of
// every word that led to it, once the maker itself has no pointer to it any more. Others
// may call it for nothing: it uses none again but what the maker made and no other
// goroutine has kept.
func (m *Maker[V]) Retire(obj *Object[V]) {
	if obj.maker == m.number && m.number != 0 && !obj.kept.Load() {
		m.Return(obj)
	}
}
