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
	high *[]*leaf // nil while no slot beyond the first 256 was ever used
}

// leaves returns those that there are. They are shared and not written to.
func (l *live) leaves() []*leaf {
	if l.high == nil {
		return nil
	}
	return *l.high
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
	high := l.leaves()
	return n < len(high) && high[n][bit/64]>>(bit%64)&1 == 1
}

// set adds slot to l, or takes it away. What l shares with other versions is
// copied first.
func (l *live) set(slot uint32, on bool) {
	if slot < inlineSlots {
		setBit(l.low[:], slot, on)
		return
	}
	n, bit := inLeaf(slot)
	old := l.leaves()
	high := make([]*leaf, max(n+1, len(old)))
	copy(high, old)
	for i := len(old); i < n; i++ {
		high[i] = &leaf{}
	}
	changed := &leaf{}
	if n < len(old) {
		*changed = *high[n]
	}
	setBit(changed[:], bit, on)
	high[n], l.high = changed, &high
}

func setBit(words []uint64, bit uint32, on bool) {
	if on {
		words[bit/64] |= 1 << (bit % 64)
	} else {
		words[bit/64] &^= 1 << (bit % 64)
	}
}

// free returns the lowest slot from one on that is not live. There is always
// one: those that no version has had yet are not live.
func (l *live) free(from uint32) uint32 {
	for ; from < inlineSlots; from = from&^63 + 64 {
		if w := ^l.low[from/64] >> (from % 64); w != 0 {
			return from + uint32(bits.TrailingZeros64(w))
		}
	}
	for high := l.leaves(); ; from = from&^63 + 64 {
		n, bit := inLeaf(from)
		if n >= len(high) {
			return from
		}
		if w := ^high[n][bit/64] >> (bit % 64); w != 0 {
			return from + uint32(bits.TrailingZeros64(w))
		}
	}
}

// all walks the live slots, lowest first.
func (l *live) all() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if !eachBit(l.low[:], 0, yield) {
			return
		}
		for n, leaf := range l.leaves() {
			if !eachBit(leaf[:], uint32(inlineSlots+n*leafSlots), yield) {
				return
			}
		}
	}
}

// eachBit yields base plus the number of every bit that is set, and reports
// whether the walk may go on.
func eachBit(words []uint64, base uint32, yield func(uint32) bool) bool {
	for i, w := range words {
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
	for _, leaf := range l.leaves() {
		for _, w := range leaf {
			n += bits.OnesCount64(w)
		}
	}
	return n
}
