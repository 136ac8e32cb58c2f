package drf

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/cellsched/cellsched/resources"
)

// slack is how far apart two keys, read as integers, must be before their
// order is believed. A key is an amount over a weight, and a share that times
// the inverse of a total: after five roundings (of the amount, the quotient,
// the total, its inverse, the product), each by at most 2^-53 of the number,
// which is at most one unit in the last place: 5 for a key, 10 for a pair.
const slack = 16

// withNext returns what slot holds and its next task takes, at most 2^63-1 of a
// kind: more than it may ever hold.
func (t *tree) withNext(slot uint32) resources.Vector {
	v := t.usages[slot]
	if t.wants(slot) {
		for k, q := range &t.demands[t.leaves+int(slot)] {
			v[k] = int64(min(uint64(v[k]+q), math.MaxInt64))
		}
	}
	return v
}

// scale returns the weights of slot by kind, or nil where they are all the same.
func (t *tree) scale(slot uint32) *[resources.MaxKinds]float64 {
	if t.scales == nil {
		return nil
	}
	return t.scales[slot]
}

// weightOf returns the weight of slot for a kind.
func (t *tree) weightOf(slot uint32, kind int) float64 {
	if s := t.scale(slot); s != nil {
		return s[kind]
	}
	return t.accounts[slot].weight
}

// measure finds the kind of slot's dominant share, and what is counted of it:
// 0 of kind 0 where that is nothing.
func (t *tree) measure(slot uint32) (kind resources.Kind, num int64) {
	usage := &t.usages[slot]
	if t.after {
		with := t.withNext(slot)
		usage = &with
	}
	// Without branches, since which kind leads is hard to predict: the
	// largest fraction, as float64 bits, and the runner-up.
	var first, second uint64
	lead, scale := 0, t.scale(slot)
	for k := range t.kinds {
		f := float64(usage[k]) * t.inverse[k]
		if scale != nil {
			f /= scale[k]
		}
		bits := math.Float64bits(f)
		second = max(second, min(first, bits))
		if bits > first {
			lead = k
		}
		first = max(first, bits)
	}
	if first == 0 {
		return 0, 0
	}
	if near(int64(first - second)) {
		lead = t.dominant(slot, usage)
	}
	return resources.Kind(lead), usage[lead]
}

// weigh measures slot again, after its usage, its weight, its demand or the
// totals changed, and returns its key.
func (t *tree) weigh(slot uint32) node {
	a := &t.accounts[slot]
	a.kind, a.num = t.measure(slot)
	if s := t.scale(slot); s != nil {
		a.weight = s[a.kind]
	}
	return node{math.Float64bits(float64(a.num) / a.weight), slot}
}

// dominant returns the kind of which usage is the largest share for slot, the
// lower one in a tie.
func (t *tree) dominant(slot uint32, usage *resources.Vector) (kind int) {
	for k := 1; k < t.kinds; k++ {
		if t.total[k] > 0 && (t.total[kind] == 0 ||
			compareShares(usage[k], t.total[k], t.weightOf(slot, k), usage[kind], t.total[kind], t.weightOf(slot, kind)) > 0) {
			kind = k
		}
	}
	return kind
}

// share returns w, a key of the track of kind k, as the key of a share.
func (t *tree) share(w node, k int) node {
	if w.slot == none {
		return vacant
	}
	return node{math.Float64bits(math.Float64frombits(w.key) * t.inverse[k]), w.slot}
}

// before reports whether a is to be picked before b. Their keys are both of one
// track or both of shares.
func (t *tree) before(a, b node) bool {
	d := int64(a.key - b.key)
	if near(d) {
		return t.exactlyBefore(a.slot, b.slot)
	}
	return d < 0
}

// near reports whether two keys are too close to tell which share is larger.
func near(difference int64) bool { return uint64(difference+slack) <= 2*slack }

// exactlyBefore decides by integers alone, by what the two are ranked by. Neither
// key counts, except that only shares of zero have a key of zero.
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
	// less than 2^(63+62+53+39).
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
