package drf

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/cellsched/cellsched/resources"
)

// slack is how far apart two keys, read as integers, must be before their
// order is believed. A key is a share after five roundings (of the amount, the
// total, its inverse, their product, and the division by the weight), each by
// at most 2^-53 of the number, which is at most one unit in the last place: 5
// for a key, 10 for a pair.
const slack = 16

// weigh finds the dominant share of slot, after its usage, its weight or the
// totals changed, and returns it as a key.
func (t *tree) weigh(slot uint32) node {
	a, usage := &t.accounts[slot], &t.usages[slot]
	// Without branches, since which kind leads is hard to predict: the
	// largest fraction, as float64 bits, and the runner-up.
	var first, second uint64
	kind := 0
	for k := range t.kinds {
		f := math.Float64bits(float64(usage[k]) * t.inverse[k])
		second = max(second, min(first, f))
		if f > first {
			kind = k
		}
		first = max(first, f)
	}
	if first == 0 {
		a.kind, a.num = 0, 0
		return node{0, slot}
	}
	if near(int64(first - second)) {
		kind = t.dominant(usage)
	}
	a.kind, a.num = resources.Kind(kind), usage[kind]
	return node{math.Float64bits(float64(a.num) * t.inverse[kind] / a.weight), slot}
}

// dominant returns the kind of which usage is the largest fraction, the lower
// one in a tie.
func (t *tree) dominant(usage *resources.Vector) (kind int) {
	for k := 1; k < t.kinds; k++ {
		if t.total[k] > 0 && (t.total[kind] == 0 ||
			compareShares(usage[k], t.total[k], 1, usage[kind], t.total[kind], 1) > 0) {
			kind = k
		}
	}
	return kind
}

// before reports whether a is to be picked before b.
func (t *tree) before(a, b node) bool {
	d := int64(a.key - b.key)
	if near(d) {
		return t.exactlyBefore(a.slot, b.slot)
	}
	return d < 0
}

// near reports whether two keys are too close to tell which share is larger.
func near(difference int64) bool { return uint64(difference+slack) <= 2*slack }

// exactlyBefore decides by integers alone. Neither key counts, except that
// only shares of zero have a key of zero.
func (t *tree) exactlyBefore(a, b uint32) bool {
	if a == none || b == none {
		return b == none && a != none
	}
	x, y := &t.accounts[a], &t.accounts[b]
	if x.num != 0 { // so y's is not either: keys this near are both zero or neither
		if c := compareShares(x.num, t.total[x.kind], x.weight, y.num, t.total[y.kind], y.weight); c != 0 {
			return c < 0
		}
	}
	return x.seq < y.seq
}

// compareShares returns the sign of an/(at*aw) - bn/(bt*bw), exactly.
func compareShares(an, at int64, aw float64, bn, bt int64, bw float64) int {
	if aw == bw {
		if at == bt {
			return cmp.Compare(uint64(an), uint64(bn))
		}
		ahi, alo := bits.Mul64(uint64(an), uint64(bt))
		bhi, blo := bits.Mul64(uint64(bn), uint64(at))
		if ahi != bhi {
			return cmp.Compare(ahi, bhi)
		}
		return cmp.Compare(alo, blo)
	}
	// Each side is multiplied with the other's divisor. A weight is its
	// mantissa, less than 2^53, times a power of two. Of the powers only the
	// difference matters, at most 39 for weights from 1e-6 to 1e6: a side is
	// less than 2^(62+62+53+39).
	am, ae := mantissa(aw)
	bm, be := mantissa(bw)
	low := min(ae, be)
	a := product(uint64(an), uint64(bt), bm, be-low)
	b := product(uint64(bn), uint64(at), am, ae-low)
	for i := 3; i > 0; i-- {
		if a[i] != b[i] {
			return cmp.Compare(a[i], b[i])
		}
	}
	return cmp.Compare(a[0], b[0])
}

// mantissa splits a normal positive w into m and e with w = m * 2^e up to a
// constant power of two, the same for all.
func mantissa(w float64) (m uint64, e uint) {
	b := math.Float64bits(w)
	return b&(1<<52-1) | 1<<52, uint(b >> 52)
}

// product returns x*y*m << shift, lowest limb first, for shift < 64.
func product(x, y, m uint64, shift uint) [4]uint64 {
	hi, lo := bits.Mul64(x, y)
	p1, p0 := bits.Mul64(lo, m)
	p2, mid := bits.Mul64(hi, m)
	p1, carry := bits.Add64(p1, mid, 0)
	p2 += carry
	back := 64 - shift // a shift by 64 gives 0 in Go
	return [4]uint64{p0 << shift, p1<<shift | p0>>back, p2<<shift | p1>>back, p2 >> back}
}
