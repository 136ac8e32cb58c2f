package omega

import (
	"iter"
	"math/bits"
)

// MaxAllocations is how many allocations a machine can hold at a time.
const MaxAllocations = maxIndex

const (
	inlineSlots = 256  // slots whose liveness is kept in the version itself
	leafSlots   = 1024 // slots a leaf covers once a machine holds more
)

// live is the set of a machine's slots that hold a live allocation: an
// immutable value, so that a version can carry it and the swap of the version
// decides every grant and release at once.
//
// The first 256 slots are bits in place; slots beyond spill into leaves that
// versions share, so that a commit copies one leaf and the list of leaves
// (n/1024 pointers), however many allocations are live.
type live struct {
	low  [inlineSlots / 64]uint64
	high []*leaf
}

type leaf [leafSlots / 64]uint64

// inLeaf returns which leaf slot is in, and its bit there.
func inLeaf(slot uint32) (n int, bit uint32) {
	return int(slot-inlineSlots) / leafSlots, (slot - inlineSlots) % leafSlots
}

func (l *live) has(slot uint32) bool {
	if slot < inlineSlots {
		return l.low[slot/64]>>(slot%64)&1 == 1
	}
	n, bit := inLeaf(slot)
	return n < len(l.high) && l.high[n][bit/64]>>(bit%64)&1 == 1
}

// set adds slot to l, or takes it away. What l shares with other versions is
// copied first.
func (l *live) set(slot uint32, on bool) {
	if slot < inlineSlots {
		setBit(l.low[:], slot, on)
		return
	}
	n, bit := inLeaf(slot)
	high := make([]*leaf, max(n+1, len(l.high)))
	copy(high, l.high)
	for i := len(l.high); i < n; i++ {
		high[i] = &leaf{}
	}
	changed := &leaf{}
	if n < len(l.high) {
		*changed = *high[n]
	}
	setBit(changed[:], bit, on)
	high[n], l.high = changed, high
}

func setBit(words []uint64, bit uint32, on bool) {
	if on {
		words[bit/64] |= 1 << (bit % 64)
	} else {
		words[bit/64] &^= 1 << (bit % 64)
	}
}

// free walks the slots from one on that are not live, lowest first, without
// end: those that no version has had yet are not live.
func (l *live) free(from uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		base := uint32(0)
		if from < inlineSlots {
			if !eachBit(l.low[:], true, 0, from, yield) {
				return
			}
			base = inlineSlots
		} else {
			n, _ := inLeaf(from)
			base = inlineSlots + uint32(n)*leafSlots
		}
		for n, _ := inLeaf(base); n < len(l.high); n++ {
			if !eachBit(l.high[n][:], true, base, from, yield) {
				return
			}
			base += leafSlots
		}
		for slot := max(base, from); yield(slot); slot++ {
		}
	}
}

// all walks the live slots, lowest first.
func (l *live) all() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if !eachBit(l.low[:], false, 0, 0, yield) {
			return
		}
		for n, leaf := range l.high {
			if !eachBit(leaf[:], false, uint32(inlineSlots+n*leafSlots), 0, yield) {
				return
			}
		}
	}
}

// eachBit yields base plus the number of every bit that is set (or clear, when
// inverted), those below from left out, and reports whether the walk may go on.
func eachBit(words []uint64, inverted bool, base, from uint32, yield func(uint32) bool) bool {
	first := 0
	if from > base {
		first = int(from-base) / 64
	}
	for i := first; i < len(words); i++ {
		w := words[i]
		if inverted {
			w = ^w
		}
		if start := base + uint32(i)*64; from > start {
			w &^= 1<<(from-start) - 1
		}
		for ; w != 0; w &= w - 1 {
			if !yield(base + uint32(i*64+bits.TrailingZeros64(w))) {
				return false
			}
		}
	}
	return true
}

// count returns how many slots are live.
func (l *live) count() int {
	n := 0
	for _, w := range l.low {
		n += bits.OnesCount64(w)
	}
	for _, leaf := range l.high {
		for _, w := range leaf {
			n += bits.OnesCount64(w)
		}
	}
	return n
}
