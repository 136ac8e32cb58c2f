package omega

import (
	"iter"
	"math"
	"math/bits"
	"slices"
)

// maxAllocations is how many allocations a machine can hold at a time.
const maxAllocations = maxIndex

// live is the set of a machine's slots that hold a live allocation. It is a value that a
// version carries, so that the swap of the version decides every grant and release at
// once. Setting a slot in one copy leaves the others as they are.
//
// The first slots are bits of the value itself: most machines have no others. It is to be
// copied by follow, since those from firstLive on are behind a pointer.
type live struct {
	first [firstLive / 64]uint64
	wide  *wide // nil where there are no others; of this value alone
}

const firstLive = 192

// follow makes l a copy of another set, and of the room that is kept with it. It uses the
// memory of l again.
func (l *live) follow(other *live) {
	l.first = other.first
	switch {
	case other.wide != nil:
		*l.widen() = *other.wide
	case l.wide != nil:
		l.wide = nil
	}
}

// widen returns the wide of l, which it makes where there is none.
func (l *live) widen() *wide {
	if l.wide == nil {
		l.wide = &wide{}
	}
	return l.wide
}

// rest returns the slots from firstLive on, to be read.
func (l *live) rest() *rest {
	if l.wide == nil {
		return &noSlots
	}
	return &l.wide.rest
}

var noSlots rest

// add adds the given slots, in rising order, to an empty set.
func (l *live) add(slots []uint32) {
	n := 0
	for ; n < len(slots) && slots[n] < firstLive; n++ {
		l.toggle(slots[n])
	}
	if n < len(slots) {
		others := make([]uint32, len(slots)-n)
		for i, slot := range slots[n:] {
			others[i] = slot - firstLive
		}
		l.widen().rest.base = (*base)(nil).with(others)
	}
}

// words returns how many words may have a bit set.
func (l *live) words() uint32 { return uint32(len(l.first)) + l.rest().words() }

// word returns 64 slots as bits.
func (l *live) word(i uint32) uint64 {
	if i < uint32(len(l.first)) {
		return l.first[i]
	}
	return l.rest().word(i - uint32(len(l.first)))
}

func (l *live) has(slot uint32) bool {
	if slot < firstLive {
		return l.first[slot/64]&(1<<(slot%64)) != 0
	}
	return l.hasRest(slot)
}

// toggle adds slot to l if it is not in it, and else takes it away.
func (l *live) toggle(slot uint32) {
	if slot < firstLive {
		l.first[slot/64] ^= 1 << (slot % 64)
	} else {
		l.toggleRest(slot - firstLive)
	}
}

// hasRest and toggleRest are calls, so that has and toggle are inlined.
//
//go:noinline
func (l *live) hasRest(slot uint32) bool { return l.word(slot/64)>>(slot%64)&1 == 1 }

//go:noinline
func (l *live) toggleRest(slot uint32) { l.widen().rest.toggle(slot) }

// free returns the lowest slot from one on that is not live. There always is one: slots
// that no version has had yet are not live. Cost: O(words of 64 slots) from there, or
// from the first word with a slot that is not live.
func (l *live) free(from uint32) uint32 {
	for ; from < firstLive; from = from&^63 + 64 {
		if w := ^l.first[from/64] >> (from % 64); w != 0 {
			return from + uint32(bits.TrailingZeros64(w))
		}
	}
	return firstLive + l.rest().free(from-firstLive)
}

// all walks the live slots, lowest first.
func (l *live) all() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i := range l.words() {
			for w := l.word(i); w != 0; w &= w - 1 {
				if !yield(i*64 + uint32(bits.TrailingZeros64(w))) {
					return
				}
			}
		}
	}
}

// count returns how many slots are live.
func (l *live) count() (n int) {
	for _, w := range l.first {
		n += bits.OnesCount64(w)
	}
	if l.wide != nil {
		for i := range l.wide.rest.words() {
			n += bits.OnesCount64(l.wide.rest.word(i))
		}
	}
	return n
}

// rest is a set of any number of slots: a base that versions share, and the few slots
// that have changed since. A commit costs the same however many allocations the machine
// holds.
type rest struct {
	base    *base // nil: no slot
	n       uint32
	toggled [liveToggles]uint32 // the n slots that differ from the base
}

const liveToggles = 5

// base is a bitmap, immutable once it is shared.
type base struct {
	low  [lowWords]uint64
	more []*chunk // nil where no slot there was ever live
	open uint32   // the first word in which a slot is not live
}

const (
	lowWords   = 4
	lowSlots   = lowWords * 64
	chunkWords = 16
	chunkSlots = chunkWords * 64
)

type chunk [chunkWords]uint64

// words returns how many words there are.
func (b *base) words() uint32 {
	if b == nil {
		return 0
	}
	return uint32(lowWords + chunkWords*len(b.more))
}

// word returns word i of the base, below words.
func (b *base) word(i uint32) uint64 {
	if i < lowWords {
		return b.low[i]
	}
	if c := b.more[(i-lowWords)/chunkWords]; c != nil {
		return c[(i-lowWords)%chunkWords]
	}
	return 0
}

// has reports whether a slot is live.
func (b *base) has(slot uint32) bool {
	return slot/64 < b.words() && b.word(slot/64)>>(slot%64)&1 == 1
}

// with returns the base with the given slots toggled.
func (b *base) with(toggled []uint32) *base {
	next := &base{}
	var old []*chunk
	if b != nil {
		next.low, old, next.open = b.low, b.more, b.open
	}
	next.more = old
	for _, slot := range toggled {
		next.open = min(next.open, slot/64)
		if slot < lowSlots {
			next.low[slot/64] ^= 1 << (slot % 64)
			continue
		}
		n, bit := int(slot-lowSlots)/chunkSlots, (slot-lowSlots)%chunkSlots
		if n >= len(next.more) || len(old) > 0 && &next.more[0] == &old[0] {
			next.more = append(make([]*chunk, 0, max(n+1, len(next.more))), next.more...)
			next.more = next.more[:max(n+1, len(next.more))]
		}
		if c := next.more[n]; c == nil || n < len(old) && c == old[n] {
			own := &chunk{}
			if c != nil {
				*own = *c
			}
			next.more[n] = own
		}
		next.more[n][bit/64] ^= 1 << (bit % 64)
	}
	for words := next.words(); next.open < words && next.word(next.open) == math.MaxUint64; next.open++ {
	}
	return next
}

// words is that of live.
func (l *rest) words() uint32 {
	n := l.base.words()
	for _, slot := range l.toggled[:l.n] {
		n = max(n, slot/64+1)
	}
	return n
}

// word is that of live.
func (l *rest) word(i uint32) (w uint64) {
	if i < l.base.words() {
		w = l.base.word(i)
	}
	for _, slot := range l.toggled[:l.n] {
		if slot/64 == i {
			w ^= 1 << (slot % 64)
		}
	}
	return w
}

// toggle is that of live.
func (l *rest) toggle(slot uint32) {
	if i := slices.Index(l.toggled[:l.n], slot); i >= 0 {
		l.n--
		l.toggled[i] = l.toggled[l.n]
		return
	}
	if l.n < liveToggles {
		l.toggled[l.n] = slot
		l.n++
		return
	}
	// Only every sixth change makes a new base, and copies only the parts of it that
	// changed.
	all := append(l.toggled[:liveToggles:liveToggles], slot)
	*l = rest{base: l.base.with(all)}
}

// free is that of live.
func (l *rest) free(from uint32) uint32 {
	toggled := l.toggled[:l.n]
	lowest := uint32(math.MaxUint32) // of those live in the base and not here
	for _, slot := range toggled {
		if slot >= from && slot < lowest && l.base.has(slot) {
			lowest = slot
		}
	}
	words := l.base.words()
	if words > 0 {
		from = max(from, l.base.open*64)
	}
	for ; from/64 < words; from = from&^63 + 64 {
		for w := ^l.base.word(from/64) >> (from % 64) << (from % 64); w != 0; w &= w - 1 {
			slot := from&^63 + uint32(bits.TrailingZeros64(w))
			if slot >= lowest {
				return lowest
			}
			if !slices.Contains(toggled, slot) {
				return slot
			}
		}
	}
	for slices.Contains(toggled, from) {
		from++ // it is beyond the base, hence live here
	}
	return min(from, lowest)
}
