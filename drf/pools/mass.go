package pools

import (
	"math"
	"math/bits"
)

// mass is an exact weight, sum of weights, or sum of quantities, as an integer. A
// weight counts units of 2^-72, the last place of a float64 from drf.MinWeight on.
// The largest weight is less than 2^92 units, so the sum over all nodes of a tree
// fits.
type mass struct{ hi, lo uint64 }

// massOf converts a valid weight.
func massOf(weight float64) mass {
	const digits = 53 // of a float64
	fraction, exponent := math.Frexp(weight)
	m, up := uint64(fraction*(1<<digits)), uint(exponent-digits+72)
	return mass{m >> (64 - up), m << up}
}

// quantity converts an amount, which is not negative.
func quantity(q int64) mass { return mass{lo: uint64(q)} }

func (m mass) plus(n mass) mass {
	lo, carry := bits.Add64(m.lo, n.lo, 0)
	hi, _ := bits.Add64(m.hi, n.hi, carry)
	return mass{hi, lo}
}

func (m mass) minus(n mass) mass {
	lo, borrow := bits.Sub64(m.lo, n.lo, 0)
	hi, _ := bits.Sub64(m.hi, n.hi, borrow)
	return mass{hi, lo}
}

// times returns m*q, for q that is not negative.
func (m mass) times(q int64) product {
	carry, lo := bits.Mul64(m.lo, uint64(q))
	hi, mid := bits.Mul64(m.hi, uint64(q))
	mid, c := bits.Add64(mid, carry, 0)
	return product{hi + c, mid, lo}
}

// product is a mass times a quantity.
type product struct{ hi, mid, lo uint64 }

// exceeds reports whether p > q.
func (p product) exceeds(q product) bool {
	switch {
	case p.hi != q.hi:
		return p.hi > q.hi
	case p.mid != q.mid:
		return p.mid > q.mid
	}
	return p.lo > q.lo
}

// over returns p/m rounded down, which must be less than 2^62, and whether that
// is exact. It is a step of long division, in digits of 64 bits: D. Knuth, The
// Art of Computer Programming, volume 2, section 4.3.1, algorithm D.
func (p product) over(m mass) (quotient int64, exact bool) {
	p, m = normal(p, m)
	q, mid := bits.Div64(p.hi, p.mid, m.hi)
	// The rest is less by q*m.lo. That may be too much, but by no more than twice
	// m, as the top bit of m is set.
	hi, lo := bits.Mul64(q, m.lo)
	lo, borrow := bits.Sub64(p.lo, lo, 0)
	mid, borrow = bits.Sub64(mid, hi, borrow)
	for borrow > 0 {
		q--
		var carry uint64
		lo, carry = bits.Add64(lo, m.lo, 0)
		mid, carry = bits.Add64(mid, m.hi, carry)
		borrow -= carry
	}
	return int64(q), mid|lo == 0
}

// normal shifts both so that the top bit of m, which is not 0, is set. If one digit
// is enough for m, then m has only that digit. As p/m is less than 2^62, nothing of
// p is lost.
func normal(p product, m mass) (product, mass) {
	up := bits.LeadingZeros64(m.hi)
	down := 64 - up
	return product{p.hi<<up | p.mid>>down, p.mid<<up | p.lo>>down, p.lo << up},
		mass{m.hi<<up | m.lo>>down, m.lo << up}
}
