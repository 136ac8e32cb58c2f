package omega

import (
	"iter"
	"math/bits"
	"slices"
)

// MaxAllocations is how many allocations a machine can hold at a time.
const MaxAllocations = maxIndex

// live is the set of a machine's slots that hold a live allocation: a value
// that a version carries, so that the swap of the version decides every grant
// and release at once. Setting a slot in one copy leaves the others as they are.
//
// It is a base that versions share, and the few slots that have changed since:
// only every eighth change makes a new base, of which only those parts are
// copied that changed. So a commit costs the same however many allocations the
// machine holds.
type live struct {
	base    *base // nil: no slot
	n       uint32
	toggled [liveToggles]uint32 // n slots that are not as the base has them
}

const liveToggles = 7

// base is a bitmap, immutable once it is shared.
type base struct {
	low  [lowWords]uint64
	more []*chunk // nil where no slot there was ever live
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

// word returns word i, of those that there are.
func (b *base) word(i uint32) uint64 {
	if i < lowWords {
		return b.low[i]
	}
	if c := b.more[(i-lowWords)/chunkWords]; c != nil {
		return c[(i-lowWords)%chunkWords]
	}
	return 0
}

// with returns the base with the given slots the other way round.
func (b *base) with(toggled []uint32) *base {
	next := &base{}
	var old []*chunk
	if b != nil {
		next.low, old = b.low, b.more
	}
	next.more = old
	for _, slot := range toggled {
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
	return next
}

// words returns how many words may have a bit set.
func (l *live) words() uint32 {
	n := l.base.words()
	for _, slot := range l.toggled[:l.n] {
		n = max(n, slot/64+1)
	}
	return n
}

// word returns 64 slots as bits.
func (l *live) word(i uint32) (w uint64) {
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

func (l *live) has(slot uint32) bool { return l.word(slot/64)>>(slot%64)&1 == 1 }

// toggle adds slot to l if it is not in it, and else takes it away.
func (l *live) toggle(slot uint32) {
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
	all := append(l.toggled[:liveToggles:liveToggles], slot)
	*l = live{base: l.base.with(all)}
}

// free returns a slot from one on that is not live, the lowest but for a few
// that have become free lately. There is always one: those that no version has
// had yet are not live.
func (l *live) free(from uint32) uint32 {
	toggled := l.toggled[:l.n]
	for words := l.base.words(); from/64 < words; from = from&^63 + 64 {
		for w := ^l.base.word(from/64) >> (from % 64) << (from % 64); w != 0; w &= w - 1 {
			if slot := from&^63 + uint32(bits.TrailingZeros64(w)); !slices.Contains(toggled, slot) {
				return slot
			}
		}
	}
	for slices.Contains(toggled, from) {
		from++
	}
	return from
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
	for i := range l.words() {
		n += bits.OnesCount64(l.word(i))
	}
	return n
}
