package omega

import (
	"iter"
	"sync/atomic"
)

// slots are the places of a machine's allocations. Which of them are live says
// the live set in the machine's word, and nothing else.
//
// Commits go from machine to machine, whose slots seldom are in a cache. So what
// is there for a machine with few allocations is small, and leads to them in one
// step. As in [segments], pointers are written once.
type slots struct {
	first atomic.Pointer[[firstSlots]slot]
	more  atomic.Pointer[segments[slot]] // from slot firstSlots on
}

const firstSlots = 16

// at returns slot n, or nil where it was never grown.
func (s *slots) at(n uint32) *slot {
	if n < firstSlots {
		if first := s.first.Load(); first != nil {
			return &first[n]
		}
		return nil
	}
	if more := s.more.Load(); more != nil {
		return more.at(n - firstSlots)
	}
	return nil
}

// all walks the slots that there are, by number.
func (s *slots) all() iter.Seq2[uint32, *slot] {
	return func(yield func(uint32, *slot) bool) {
		if first := s.first.Load(); first != nil {
			for n := range first {
				if !yield(uint32(n), &first[n]) {
					return
				}
			}
		}
		if more := s.more.Load(); more != nil {
			for n, at := range more.each() {
				if !yield(firstSlots+n, at) {
					return
				}
			}
		}
	}
}

// grow returns slot n, which it creates where needed; n < MaxAllocations.
func (s *slots) grow(n uint32) *slot {
	if n < firstSlots {
		return &once(&s.first)[n]
	}
	return once(&s.more).grow(n - firstSlots)
}

// once returns what p points to, which it makes where needed.
func once[T any](p *atomic.Pointer[T]) *T {
	if v := p.Load(); v != nil {
		return v
	}
	p.CompareAndSwap(nil, new(T))
	return p.Load() // this one, or another goroutine's, just as good
}

// reserve puts rec in the lowest free slot and returns its number and it, or nil if
// the machine has none left. It ends: a slot that is not free is passed by.
//
// Which slot that is depends on nothing but the state of the cell. So where one
// commit at a time is applied, copies of a cell to which the same is applied in the
// same order give out the same IDs, those restored from a file included.
func (s *slots) reserve(l *live, rec *record) (n uint32, own *slot) {
	for n = l.free(0); n < MaxAllocations; n = l.free(n + 1) {
		// It is not free if another commit has taken it, or if its allocation was
		// preempted and not yet released.
		if own = s.try(n, rec); own != nil {
			return n, own
		}
	}
	return 0, nil
}

// try puts rec in slot n and returns that, or nil if it is not free.
func (s *slots) try(n uint32, rec *record) *slot {
	at := s.grow(n)
	if at.rec.Load() != nil || !at.rec.CompareAndSwap(nil, rec) {
		return nil
	}
	return at
}

// empty frees a slot, the last allocation in which was that of seq. The caller
// alone may do so: it is releasing that, or took the slot and gave up.
func (s *slots) empty(n uint32, seq uint64) {
	at := s.at(n)
	at.seq.Store(seq | vacant)
	at.rec.Store(nil)
}

// get returns the record of allocation a, live or not, and nil once its slot
// was emptied.
func (s *slots) get(a AllocationID) *record {
	at := s.at(a.slot())
	if at == nil || at.seq.Load()&^releasing != a.seq {
		return nil
	}
	rec := at.rec.Load()
	if at.seq.Load()&^releasing != a.seq {
		return nil
	}
	return rec
}

// beginRelease gives the caller alone the right to release a, unless somebody
// has it or the slot was emptied.
func (s *slots) beginRelease(a AllocationID) bool {
	at := s.at(a.slot())
	return at != nil && at.seq.CompareAndSwap(a.seq, a.seq|releasing)
}
