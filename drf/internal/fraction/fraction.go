// Package fraction compares weighted shares as fractions of integers, without
// rounding.
package fraction

import (
	"cmp"
	"math"
	"math/bits"
)

// Compare returns the sign of an/(at*aw) - bn/(bt*bw), exactly.
func Compare(an, at int64, aw float64, bn, bt int64, bw float64) int {
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
	am, ae := Mantissa(aw)
	bm, be := Mantissa(bw)
	low := min(ae, be)
	a := Product(uint64(an), uint64(bt), bm, be-low)
	b := Product(uint64(bn), uint64(at), am, ae-low)
	for i := 3; i > 0; i-- {
		if a[i] != b[i] {
			return cmp.Compare(a[i], b[i])
		}
	}
	return cmp.Compare(a[0], b[0])
}

// Mantissa splits a normal positive w into m and e with w = m * 2^e up to a
// constant power of two, the same for all.
func Mantissa(w float64) (m uint64, e uint) {
	b := math.Float64bits(w)
	return b&(1<<52-1) | 1<<52, uint(b >> 52)
}

// Product returns x*y*m << shift, lowest limb first, for shift < 64.
func Product(x, y, m uint64, shift uint) [4]uint64 {
	hi, lo := bits.Mul64(x, y)
	p1, p0 := bits.Mul64(lo, m)
	p2, mid := bits.Mul64(hi, m)
	p1, carry := bits.Add64(p1, mid, 0)
	p2 += carry
	back := 64 - shift // a shift by 64 gives 0 in Go
	return [4]uint64{p0 << shift, p1<<shift | p0>>back, p2<<shift | p1>>back, p2 >> back}
}
