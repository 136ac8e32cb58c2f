package omega

import "iter"

// held is the set of allocations that were live on a machine, in the words of their
// slots: a cut has many of them. It is immutable once it was made.
type held struct {
	words   []uint64 // of each: the slot, seq, meta, and the need
	tallies []*tally // of each: the slot's number of it may come to name none
	far     []*record
}

// heldIn returns the live allocations of val. They are right if val was still the
// machine's value when it returned.
func (c *Cell) heldIn(val *version) (h held) {
	const words = 5 // of most
	at, n := c.table(uint32(val.spec.id.Node())), val.live.count()
	h.words, h.tallies = make([]uint64, 0, words*n), make([]*tally, 0, n)
	for n := range val.live.all() {
		slot := at.at(n)
		seq := slot.seq().Load() &^ releasing
		var im image
		at.image(n, slot, &im)
		t := im.tally(&c.numbers)
		if t == nil {
			continue // val is no longer the machine's value
		}
		h.words = append(append(h.words, uint64(n), seq, im.meta), im.words[:im.len()]...)
		h.tallies = append(h.tallies, t)
		if im.far != nil {
			h.far = append(h.far, im.far)
		}
	}
	return h
}

// len returns how many allocations there are.
func (h *held) len() int { return len(h.tallies) }

// all walks the allocations, by slot. It uses the yielded one again for the next.
func (h *held) all() iter.Seq[*holding] {
	return func(yield func(*holding) bool) {
		var one holding
		words, far := h.words, h.far
		for _, t := range h.tallies {
			im := image{meta: words[2]}
			one.slot, one.seq = uint32(words[0]), words[1]
			words = words[3:]
			copy(im.words[:], words[:im.len()])
			words = words[im.len():]
			if im.meta&metaFar != 0 {
				im.far, far = far[0], far[1:]
			}
			im.unpack(t, &one.rec)
			if !yield(&one) {
				return
			}
		}
	}
}
