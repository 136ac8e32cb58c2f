package omega

import (
	"iter"
	"sync/atomic"

	"github.com/cellsched/cellsched/omega/internal/atomics"
	"github.com/cellsched/cellsched/resources"
)

// slots are the places of a machine's allocations. Only the live set in the machine's
// word says which of them are live.
//
// Commits go from machine to machine, and the slots there are seldom in a cache. So the
// first slots are reached in one step, and the memory for a machine with few
// allocations is small. As in [segments], pointers are written once.
type slots struct {
	first  atomic.Pointer[[firstWords]atomics.Uint64]
	second atomic.Pointer[[secondWords]atomics.Uint64]
	third  atomic.Pointer[[blockWords]atomics.Uint64]
	more   atomic.Pointer[moreSlots]
}

// moreSlots has the slots of a machine with many allocations.
type moreSlots struct {
	blocks segments[atomic.Pointer[[blockWords]atomics.Uint64]]
	far    segments[atomics.Pointer[record]] // by slot: see image
}

// The words of the parts of slots: as many whole slots as fit in. The first ones fill
// size classes of the runtime.
const (
	firstWords  = 96
	secondWords = 288
	blockWords  = 864
)

// layout describes the places of the slots of a cell. It never changes.
type layout struct {
	size                 uint32 // words of a slot
	first, second, third uint32 // the first slot that is not in that part
	block                uint32 // slots in the third part, and in each further one
}

// layoutFor returns the layout for so many kinds of resources, 0 for any.
func layoutFor(kinds int) layout {
	if kinds == 0 {
		kinds = resources.MaxKinds
	}
	size := uint32(slotHead + wordsFor(kinds))
	l := layout{size: size, first: firstWords / size, block: blockWords / size}
	l.second = l.first + secondWords/size
	l.third = l.second + l.block
	return l
}

// table is the slots of one machine.
type table struct {
	*slots
	cell *Cell
}

// table returns the slots of a machine that the cell has.
func (c *Cell) table(node uint32) table { return table{c.slots.at(node), c} }

// at returns slot n, or nil where it was never grown.
func (t table) at(n uint32) slot {
	l := &t.cell.layout
	switch {
	case n < l.first:
		if part := t.first.Load(); part != nil {
			return l.slot(part[:], n)
		}
	case n < l.second:
		if part := t.second.Load(); part != nil {
			return l.slot(part[:], n-l.first)
		}
	case n < l.third:
		if part := t.third.Load(); part != nil {
			return l.slot(part[:], n-l.second)
		}
	default:
		if more := t.more.Load(); more != nil {
			n -= l.third
			if at := more.blocks.at(n / l.block); at != nil {
				if part := at.Load(); part != nil {
					return l.slot(part[:], n%l.block)
				}
			}
		}
	}
	return nil
}

// slot returns slot i of a part.
func (l *layout) slot(part []atomics.Uint64, i uint32) slot {
	return part[i*l.size : (i+1)*l.size : (i+1)*l.size]
}

// grow returns slot n, which it creates where needed; n < maxAllocations.
func (t table) grow(n uint32) slot {
	if at := t.at(n); at != nil {
		return at
	}
	switch l := &t.cell.layout; {
	case n < l.first:
		part := new([firstWords]atomics.Uint64)
		clear(part[:]) // pages new to the process are written before they are read: see segments
		t.first.CompareAndSwap(nil, part)
	case n < l.second:
		part := new([secondWords]atomics.Uint64)
		clear(part[:])
		t.second.CompareAndSwap(nil, part)
	default:
		at := &t.third
		if n >= l.third {
			at = once(&t.more).blocks.grow((n - l.third) / l.block)
		}
		part := new([blockWords]atomics.Uint64)
		clear(part[:])
		at.CompareAndSwap(nil, part)
	}
	return t.at(n) // of this part, or of another goroutine's, just as good
}

// far returns where the record of slot n is, if that is far.
func (t table) far(n uint32) *atomics.Pointer[record] { return once(&t.more).far.grow(n) }

// once returns the value that p points to. It makes the value if there is none.
func once[T any](p *atomic.Pointer[T]) *T {
	if v := p.Load(); v != nil {
		return v
	}
	p.CompareAndSwap(nil, new(T))
	return p.Load() // this one, or another goroutine's, just as good
}

// all walks the slots that there are, by number.
func (t table) all() iter.Seq2[uint32, slot] {
	return func(yield func(uint32, slot) bool) {
		l := &t.cell.layout
		ends := [...]uint32{l.first, l.second, l.third}
		n := uint32(0)
		for _, end := range ends {
			if t.at(n) == nil {
				n = end
			}
			for ; n < end; n++ {
				if !yield(n, t.at(n)) {
					return
				}
			}
		}
		if more := t.more.Load(); more != nil {
			for b, at := range more.blocks.each() {
				part := at.Load()
				for i := uint32(0); part != nil && i < l.block; i++ {
					if !yield(l.third+b*l.block+i, l.slot(part[:], i)) {
						return
					}
				}
			}
		}
	}
}

// reserve takes the lowest free slot for im and returns its number and it, or nil if
// the machine has none left. It ends: a slot that is not free is passed by.
//
// The choice depends on nothing but the state of the cell. So copies of a cell that
// apply the same commits in the same order, one at a time, give out the same IDs. That
// holds for copies restored from a file, too.
func (t table) reserve(l *live, im *image) (n uint32, own slot) {
	for n = l.free(0); n < maxAllocations; n = l.free(n + 1) {
		// It is not free if another commit has taken it, or if its allocation was
		// preempted and not yet released.
		if own = t.grow(n); own.meta().Load() == 0 && own.meta().CompareAndSwap(0, im.meta) {
			t.fill(n, own, im)
			return n, own
		}
	}
	return 0, nil
}

// fill writes all of im but meta into slot n, which is the caller's.
func (t table) fill(n uint32, own slot, im *image) {
	if im.meta&metaFar != 0 {
		t.setFar(n, im.far)
		return
	}
	for i := range im.len() {
		// Often the allocation before it had the same, and a store is an exchange.
		if word := im.words[i&(resources.MaxKinds-1)]; own[slotHead+i].Load() != word {
			own[slotHead+i].Store(word)
		}
	}
}

// refill changes slot n, which is the caller's and has not been live, to im. No other
// goroutine knows the number that seq has by then.
func (t table) refill(n uint32, im *image) slot {
	own := t.at(n)
	t.drop(n, own)
	own.meta().Store(im.meta)
	t.fill(n, own, im)
	return own
}

// drop forgets the far record of slot n, if it has one.
func (t table) drop(n uint32, own slot) {
	if own.meta().Load()&metaFar != 0 {
		t.setFar(n, nil)
	}
}

// setFar sets the record of slot n. It is apart from its callers, so that these are inlined.
func (t table) setFar(n uint32, far *record) { t.far(n).Store(far) }

// empty frees a slot, the last allocation in which was that of seq. The caller
// alone may do so: it is releasing that, or took the slot and gave up.
func (t table) empty(n uint32, seq uint64) { t.vacate(n, t.at(n), seq) }

// vacate is empty for the caller that has looked slot n up.
func (t table) vacate(n uint32, own slot, seq uint64) {
	own.seq().Store(seq | vacant)
	t.drop(n, own)
	own.meta().Store(0)
}

// image reads all of a slot but seq.
func (t table) image(n uint32, at slot, im *image) {
	im.meta = at.meta().Load()
	if im.meta&metaFar != 0 {
		im.far = t.far(n).Load()
		return
	}
	at.words(im)
}

// get reads the record of allocation a, live or not, into rec, and returns false once
// its slot was emptied.
func (t table) get(a AllocationID, rec *record) bool {
	at := t.at(a.slot())
	if at == nil || at.seq().Load()&^releasing != a.seq {
		return false
	}
	var im image
	t.image(a.slot(), at, &im)
	by := im.tally(&t.cell.numbers)
	if by == nil || at.seq().Load()&^releasing != a.seq {
		return false
	}
	im.unpack(by, rec)
	return true
}

// tally is get for the tally alone. It too linearizes at its last load of seq.
func (t table) tally(a AllocationID) *tally {
	at := t.at(a.slot())
	if at == nil || at.seq().Load()&^releasing != a.seq {
		return nil
	}
	var by *tally
	if meta := at.meta().Load(); meta&metaFar == 0 {
		by = t.cell.numbers.tally(uint32(meta >> numberShift))
	} else if rec := t.far(a.slot()).Load(); rec != nil {
		by = rec.tally
	}
	if at.seq().Load()&^releasing != a.seq {
		return nil
	}
	return by
}

// look reads the record in slot n into rec, with its seq, and returns false if the slot
// is free. What it reads is right if a version in which the slot is live is the
// machine's value afterwards.
func (t table) look(n uint32, rec *record) (seq uint64, ok bool) {
	at := t.at(n)
	if at == nil {
		return 0, false
	}
	seq = at.seq().Load() &^ releasing
	var im image
	t.image(n, at, &im)
	by := im.tally(&t.cell.numbers)
	if by == nil {
		return 0, false
	}
	im.unpack(by, rec)
	return seq, true
}

// release gives the caller alone the right to release a, if o has that, and returns its
// slot, its tally and what it needs, or why it cannot. An allocation of another owner
// always has a tally.
//
// Once seq says that a is being released nothing else of the slot is written, so that the
// need is read in place. Before that, meta is a's if seq is still a's afterwards.
func (t table) release(a AllocationID, o *owner, need *resources.Vector) (own slot, by *tally, v verdict) {
	own = t.at(a.slot())
	if own == nil || own.seq().Load() != a.seq {
		return nil, nil, notLive
	}
	meta := own.meta().Load()
	var far *record
	if meta&metaFar == 0 {
		by = t.cell.numbers.tally(uint32(meta >> numberShift))
	} else if far = t.far(a.slot()).Load(); far != nil {
		by = far.tally
	}
	switch {
	case by == nil:
		return nil, nil, notLive
	case by.owner != o:
		if own.seq().Load() != a.seq {
			return nil, nil, notLive
		}
		return nil, by, notOwner
	case !own.seq().CompareAndSwap(a.seq, a.seq|releasing):
		return nil, nil, notLive
	case far != nil:
		*need = far.need
	default:
		own.need(meta, need)
	}
	return own, by, done
}

// beginRelease gives the caller alone the right to release a, unless another goroutine
// has it or the slot was emptied.
func (t table) beginRelease(a AllocationID) bool {
	at := t.at(a.slot())
	return at != nil && at.seq().CompareAndSwap(a.seq, a.seq|releasing)
}
