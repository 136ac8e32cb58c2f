package omega

import (
	"math/bits"

	"github.com/cellsched/cellsched/omega/internal/atomics"
	"github.com/cellsched/cellsched/resources"
)

// slot is one place for an allocation on a machine: a few words of 64 bits, without
// pointers. It is free while its meta is 0.
//
//	seq    number of the version that granted the allocation, and what follows
//	meta   the form of the allocation: see image
//	need   as many words as meta says
//
// A claim takes a free slot by a swap of meta, and then writes the need. Last it stores
// in seq the number of the version that it is about to try for, or a higher one. No
// allocation that ever had the slot has that number. From then on the slot is its own:
// only its swap of the machine's word can make the slot live. If it gives up it empties
// the slot. Once live the slot is the allocation's until its owner has released it,
// even where it was preempted or lost meanwhile.
//
// Invariant: while seq is the number of an allocation, nothing else of the slot is
// written. So a reader that loads seq, then meta and the need, and then the same seq
// again has read the allocation of that number. It linearizes at its last load of seq.
// Another reader does not know the number, but a version in which the slot is live. It
// has read the allocation of that version if the version still is the machine's value
// afterwards. Before that, its fields may be of two allocations, but each field is one
// that was stored.
//
// Releasing begins with setting a bit of seq, which chooses one of several releases of
// the same allocation. It ends with emptying the slot: first seq says that it is
// vacant, then meta is 0. An exchange sets the bit once it is granted. If the owner has
// set it, the exchange leaves the slot to the owner, which is releasing the allocation
// and finds it dead.
type slot []atomics.Uint64

// Bits of seq beside the number.
const (
	releasing = 1 << 63 // the allocation is being released
	vacant    = 1 << 62 // the slot is free or being taken; zero says so too
)

// slotHead is the number of words of a slot before the need.
const slotHead = 2

func (s slot) seq() *atomics.Uint64  { return &s[0] }
func (s slot) meta() *atomics.Uint64 { return &s[1] }

// image is an allocation as a slot has it.
//
// Most allocations are packed. Their meta has the number of the tally, the number of
// the grantee, and the kinds of which the need is not 0. The amounts of these kinds
// follow one another, in 32 bits each, or in as many as there are for each in the words of
// so many kinds: see wordsFor. An atomic store is dear and so is a line of memory, so that
// fewer words are worth a few shifts. Any other allocation is far: a record on the heap,
// which belongs to the slot.
type image struct {
	meta  uint64
	words [resources.MaxKinds]uint64
	far   *record
}

// The parts of meta.
const (
	metaKinds    = 1<<resources.MaxKinds - 1 // those of which the need is not 0
	metaWide     = 1 << 8                    // some amount is 2^32 or more
	metaFar      = 1 << 9                    // see image
	metaTaken    = 1 << 10                   // the slot is not free
	granteeShift = 11
	granteeBits  = 21
	numberShift  = granteeShift + granteeBits // of the tally: see numbers
)

// wordsFor returns how many words the amounts of n kinds have in a slot: two thirds of n,
// rounded up, and two for two. So each has 42 bits or more: with bytes as the unit, 4 TiB.
func wordsFor(n int) int { return n - n/3 }

// len returns how many words of need there are.
func (im *image) len() int {
	n := bits.OnesCount8(uint8(im.meta & metaKinds))
	if im.meta&metaWide == 0 {
		return (n + 1) / 2
	}
	return wordsFor(n)
}

// width returns how many bits an amount has if n of them are wide.
func width(n int) int { return 64 * wordsFor(n) / n }

// pack makes im the image of an allocation in a slot with room for so many words of its
// need.
func (im *image) pack(need *resources.Vector, t *tally, grantee uint64, ext *extension, room uint32) {
	kinds, n, all := uint64(0), 0, uint64(0)
	for k, q := range need {
		if q != 0 {
			im.words[n&(resources.MaxKinds-1)] = uint64(q)
			n++
			kinds |= 1 << k
			all |= uint64(q)
		}
	}
	im.meta = metaTaken | kinds | grantee<<granteeShift | uint64(t.number)<<numberShift
	if all>>32 == 0 {
		half := (n + 1) / 2
		if n&1 == 1 {
			im.words[n&(resources.MaxKinds-1)] = 0 // n < MaxKinds
		}
		for i := range half {
			im.words[i] = im.words[2*i] | im.words[2*i+1]<<32
		}
		n = half
	} else {
		im.meta |= metaWide
		if !im.spread(n, all) {
			room = 0
		}
		n = wordsFor(n)
	}
	if uint32(n) > room || t.number == 0 || grantee>>granteeBits != 0 || ext != nil {
		im.meta = metaTaken | metaFar
		im.far = &record{need: *need, tally: t, grantee: grantee, ext: ext}
	}
}

// spread moves n amounts of a word each closer together. It returns false if one has no
// room so.
func (im *image) spread(n int, most uint64) bool {
	all, each := im.words, width(n)
	if most>>each != 0 {
		return false
	}
	im.words = [resources.MaxKinds]uint64{}
	for i, q := range all[:n] {
		at, shift := i*each/64, i*each%64
		im.words[at] |= q << shift
		if shift+each > 64 {
			im.words[at+1] |= q >> (64 - shift)
		}
	}
	return true
}

// gather is unpackNeed for wide amounts.
func (im *image) gather(need *resources.Vector) {
	kinds, at := uint8(im.meta&metaKinds), 0
	each := width(bits.OnesCount8(kinds))
	for ; kinds != 0; kinds &= kinds - 1 {
		i, shift := at/64, at%64
		q := im.words[i] >> shift
		if shift+each > 64 {
			q |= im.words[i+1] << (64 - shift)
		}
		need[bits.TrailingZeros8(kinds)] = int64(q & (1<<each - 1))
		at += each
	}
}

// likeness is the image of the last claim of a transaction for which one was made: most
// claims of a gang are like the one before them. It holds none while its tally is nil, and
// none that is far, since that belongs to its slot.
type likeness struct {
	need    resources.Vector
	tally   *tally
	grantee uint64
	im      image
}

// image returns the image of a claim, as pack makes it. It is good until the next one.
func (l *likeness) image(it *item, ext *extension, room uint32) *image {
	if l.tally != it.tally || ext != nil || l.grantee != it.grantee || l.need != it.claim.Need {
		l.im.pack(&it.claim.Need, it.tally, it.grantee, ext, room)
		l.tally, l.grantee, l.need = it.tally, it.grantee, it.claim.Need
		if l.im.meta&metaFar != 0 {
			l.tally = nil
		}
	}
	return &l.im
}

// words reads the words of a slot into im, which has its meta.
func (s slot) words(im *image) {
	for i := range min(im.len(), len(s)-slotHead) {
		im.words[i&(resources.MaxKinds-1)] = s[slotHead+i].Load()
	}
}

// need reads the need of the packed allocation in a slot, which has that meta.
func (s slot) need(meta uint64, need *resources.Vector) {
	if meta&metaWide != 0 {
		im := image{meta: meta}
		s.words(&im)
		im.unpackNeed(need)
		return
	}
	*need = resources.Vector{}
	kinds := uint8(meta & metaKinds)
	for i := slotHead; kinds != 0 && i < len(s); i++ {
		two := s[i].Load()
		need[bits.TrailingZeros8(kinds)&(resources.MaxKinds-1)] = int64(two & (1<<32 - 1))
		if kinds &= kinds - 1; kinds != 0 {
			need[bits.TrailingZeros8(kinds)&(resources.MaxKinds-1)] = int64(two >> 32)
			kinds &= kinds - 1
		}
	}
}

// tally returns the tally of an image that was read from a slot. It returns nil if
// there is none: then the slot is free, or it was emptied or is being taken meanwhile.
func (im *image) tally(numbers *numbers) *tally {
	switch {
	case im.meta&metaFar == 0:
		return numbers.tally(uint32(im.meta >> numberShift))
	case im.far != nil:
		return im.far.tally
	}
	return nil
}

// unpack reads the record that im is the image of into rec, given its tally.
func (im *image) unpack(t *tally, rec *record) {
	if im.meta&metaFar != 0 {
		*rec = *im.far
		return
	}
	rec.tally, rec.grantee, rec.ext = t, im.meta>>granteeShift&(1<<granteeBits-1), nil
	im.unpackNeed(&rec.need)
}

// unpackNeed reads the need of a packed image.
func (im *image) unpackNeed(need *resources.Vector) {
	*need = resources.Vector{}
	if im.meta&metaWide != 0 {
		im.gather(need)
		return
	}
	i := 0
	for kinds := uint8(im.meta & metaKinds); kinds != 0; kinds &= kinds - 1 {
		k := bits.TrailingZeros8(kinds) & (resources.MaxKinds - 1)
		need[k] = int64(im.words[i/2&(resources.MaxKinds-1)] >> (i % 2 * 32) & (1<<32 - 1))
		i++
	}
}
