package lockcell

// Handle names one claim for ever, by a place in the slab and the number of the claim
// among those that had that place. The zero Handle names none.
type Handle struct{ index, generation uint32 }

// record is one place in the slab.
type record struct {
	need       Vector
	machine    int32 // of a free place: the next free one
	generation uint32
}

// Growth is the way in which the slab of claims grows. It is most of the cost of
// claiming a million: the rest is 10 ns each.
type Growth uint8

const (
	// Chunks is by 128 KiB at a time, and nothing is ever copied.
	Chunks Growth = iota
	// Append is one slice, as one writes it first. Its copies are in memory
	// that the system has to hand out, page by page.
	Append
)

// slab keeps the claims without a pointer, so that the garbage collector does
// not look at them.
//
// Invariant: the generation of a record is odd while it is live. Even ones are
// linked from free, by number plus one. Place i is in chunk i>>shift.
type slab struct {
	chunks [][]record
	shift  uint8
	used   uint32 // places that were ever taken
	free   int32  // 0: none
}

const chunkShift = 12

func newSlab(g Growth) slab {
	if g == Append {
		return slab{chunks: make([][]record, 1), shift: 31}
	}
	return slab{shift: chunkShift}
}

func (s *slab) at(i uint32) *record {
	return &s.chunks[i>>s.shift][i&(1<<s.shift-1)]
}

func (s *slab) add(machine int32, need Vector) Handle {
	i := uint32(s.free - 1)
	if s.free == 0 {
		i = s.used
		s.grow(i)
	}
	r := s.at(i)
	if s.free != 0 {
		s.free = r.machine
	}
	r.need, r.machine = need, machine
	r.generation++
	return Handle{i, r.generation}
}

// grow adds place i, the next one.
func (s *slab) grow(i uint32) {
	if s.shift != chunkShift {
		s.chunks[0] = append(s.chunks[0], record{})
	} else if i%(1<<chunkShift) == 0 {
		s.chunks = append(s.chunks, make([]record, 1<<chunkShift))
	}
	s.used++
}

// get returns the record of a live claim, else nil.
func (s *slab) get(h Handle) *record {
	if h.index >= s.used {
		return nil
	}
	if r := s.at(h.index); r.generation == h.generation && h.generation&1 == 1 {
		return r
	}
	return nil
}

// remove frees a live place.
func (s *slab) remove(index uint32) {
	r := s.at(index)
	r.generation++
	r.machine = s.free
	s.free = int32(index) + 1
}
