package omega

import (
	"iter"
	"slices"
)

// held is the set of allocations that were live on a machine. A cut has many of them, so
// that allocations which are alike share a form. It is immutable once it was made.
type held struct {
	all   []holding
	forms []form
	words []uint64
	far   []*record
}

// holding is a live allocation of one machine.
type holding struct {
	seq  uint64
	slot uint32
	form uint32 // its index
}

// form is the common part of allocations that are alike: the meta and the words of
// their slots, or a record where these are far.
type form struct {
	tally *tally // the slot's number of it may come to name none; nil for a record
	at    uint32 // in words, or in far
}

// formsNoted is how many forms heldIn finds again, a power of two.
const formsNoted = 64

// fewForms is how many forms the allocations of a machine are expected to have.
const fewForms = 16

// heldIn returns the live allocations of val. They are right if val was still the
// machine's value when it returned.
func (c *Cell) heldIn(val *version) (h held) {
	at := c.table(uint32(val.spec.id.Node()))
	count := val.live.count()
	h.all, h.forms, h.words = make([]holding, 0, count), make([]form, 0, min(count, fewForms)), make([]uint64, 0, min(count, fewForms)*2)
	var noted [formsNoted]uint32 // one more than a form of that hash
	var im image
	for n := range val.live.all() {
		slot := at.at(n)
		seq := slot.seq().Load() &^ releasing
		at.image(n, slot, &im)
		if im.meta&metaFar != 0 {
			if im.far == nil {
				continue // val is no longer the machine's value
			}
			h.all = append(h.all, holding{seq, n, uint32(len(h.forms))})
			h.forms = append(h.forms, form{nil, uint32(len(h.far))})
			h.far = append(h.far, im.far)
			continue
		}
		words, hash := im.words[:im.len()], im.meta
		for _, word := range words {
			hash = (hash ^ word) * 0x9E3779B97F4A7C15
		}
		note := &noted[hash>>32%formsNoted]
		if *note == 0 || !h.like(&h.forms[*note-1], im.meta, words) {
			t := im.tally(&c.numbers)
			if t == nil {
				continue // as above
			}
			if len(h.forms) == cap(h.forms) && 2*len(h.forms) > len(h.all) {
				// Most differ so far, as the others may.
				h.forms = slices.Grow(h.forms, count-len(h.all))
				h.words = slices.Grow(h.words, (count-len(h.all))*(len(words)+1))
			}
			h.forms = append(h.forms, form{t, uint32(len(h.words))})
			h.words = append(append(h.words, im.meta), words...)
			*note = uint32(len(h.forms))
		}
		h.all = append(h.all, holding{seq, n, *note - 1})
	}
	return h
}

// like reports whether f, which is not far, has this meta and these words.
func (h *held) like(f *form, meta uint64, words []uint64) bool {
	at := h.words[f.at:]
	return at[0] == meta && slices.Equal(at[1:len(words)+1], words)
}

// unpack reads the record of the allocations of form n into rec.
func (h *held) unpack(n uint32, rec *record) {
	f := &h.forms[n]
	if f.tally == nil {
		*rec = *h.far[f.at]
		return
	}
	im := image{meta: h.words[f.at]}
	copy(im.words[:im.len()], h.words[f.at+1:])
	im.unpack(f.tally, rec)
}

// records walks the allocations, by slot, with their records. It uses the yielded record
// again for the next.
func (h *held) records() iter.Seq2[holding, *record] {
	return func(yield func(holding, *record) bool) {
		var rec record
		for _, one := range h.all {
			h.unpack(one.form, &rec)
			if !yield(one, &rec) {
				return
			}
		}
	}
}
