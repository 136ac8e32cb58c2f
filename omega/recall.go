package omega

import (
	"math/bits"

	"github.com/cellsched/cellsched/resources"
)

// recall is where a scheduler finds the record of a claim like one that it has
// made before: a hash table of pairs, in which the newer record of a pair comes
// first and a third one pushes the older out; what is pushed out is only made
// again. It grows when more than a quarter of as many claims as it is long push
// something out, up to recallMost, so that it is as long as claims are diverse.
type recall struct {
	pairs  [][2]remembered // none, or a power of two
	claims int             // since it was looked whether to grow
	pushed int             // out, by those
}

type remembered struct {
	hash uint64
	rec  *record
}

const (
	recallFirst = 32 // pairs
	recallMost  = 8192
)

// record returns the record of a claim.
func (r *recall) record(need *resources.Vector, t *tally, grantee uint64) *record {
	if r.pairs == nil {
		r.pairs = make([][2]remembered, recallFirst)
	}
	h := hashOf(need, t, grantee)
	pair := r.pair(h)
	if r.claims++; r.claims > 4*len(r.pairs) {
		if r.pushed > len(r.pairs) && len(r.pairs) < recallMost {
			r.grow()
			pair = r.pair(h)
		}
		r.claims, r.pushed = 0, 0
	}
	for i := range pair {
		if m := &pair[i]; m.hash == h && m.rec != nil && m.rec.tally == t && m.rec.grantee == grantee && m.rec.need == *need {
			return m.rec
		}
	}
	if pair[1].rec != nil {
		r.pushed++
	}
	rec := &record{need: *need, tally: t, grantee: grantee}
	pair[1] = pair[0]
	pair[0] = remembered{h, rec}
	return rec
}

func (r *recall) pair(hash uint64) *[2]remembered {
	return &r.pairs[hash>>(64-bits.TrailingZeros(uint(len(r.pairs))))]
}

// grow makes the table four times as long.
func (r *recall) grow() {
	old := r.pairs
	r.pairs = make([][2]remembered, 4*len(old))
	for i := range old {
		for _, m := range [2]remembered{old[i][1], old[i][0]} {
			if m.rec != nil {
				pair := r.pair(m.hash)
				pair[1] = pair[0]
				pair[0] = m
			}
		}
	}
}

// hashOf spreads claims. The kinds are multiplied by numbers of their own, all
// at once; what tells claims apart ends up in the high bits.
func hashOf(v *resources.Vector, t *tally, grantee uint64) uint64 {
	const _ = uint(resources.MaxKinds-8) + uint(8-resources.MaxKinds) // kinds are written out below
	h := (uint64(t.account)<<32|uint64(uint32(t.precedence)))*0x2545F4914F6CDD1D + grantee*0xDA942042E4DD58B5
	h += uint64(v[0])*0x9E3779B97F4A7C15 + uint64(v[1])*0xC2B2AE3D27D4EB4F + uint64(v[2])*0x165667B19E3779F9 +
		uint64(v[3])*0xD6E8FEB86659FD93 + uint64(v[4])*0xA0761D6478BD642F + uint64(v[5])*0xE7037ED1A0B428DB +
		uint64(v[6])*0x8EBC6AF09C88C6E3 + uint64(v[7])*0x589965CC75374CC3
	return (h ^ h>>32) * 0x9E3779B97F4A7C15
}
