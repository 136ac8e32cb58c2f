package pools

import (
	"math/bits"

	"github.com/cellsched/cellsched/drf/internal/fraction"
)

// residue is a fraction modulo the prime 2^64 - 2^32 + 1.
//
// Fractions that are equal have equal residues, however they were computed. Of
// two that differ, the residues agree with a chance of 2^-64.
type residue uint64

// prime is 2^64 less epsilon, so that 2^64 counts as epsilon and 2^96 as -1.
const (
	epsilon = 1<<32 - 1
	prime   = residue(1<<64 - epsilon)
)

func (a residue) plus(b residue) residue {
	sum, carry := bits.Add64(uint64(a), uint64(b), 0)
	if carry == 1 || residue(sum) >= prime {
		sum += epsilon // less the prime
	}
	return residue(sum)
}

func (a residue) minus(b residue) residue {
	rest, borrow := bits.Sub64(uint64(a), uint64(b), 0)
	return residue(rest - borrow*epsilon)
}

func (a residue) times(b residue) residue {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	rest, borrow := bits.Sub64(lo, hi>>32, 0) // 2^96 is -1
	rest -= borrow * epsilon
	low := hi & epsilon
	sum, carry := bits.Add64(rest, low<<32-low, 0) // 2^64 is epsilon
	sum += carry * epsilon
	if residue(sum) >= prime {
		sum += epsilon
	}
	return residue(sum)
}

// inverse returns 1/a, or 0 for 0: by Fermat the power of 2^64 - 2^32 - 1, which
// is 31 ones, a zero and 32 ones.
func (a residue) inverse() residue {
	squared := func(x residue, times int) residue {
		for range times {
			x = x.times(x)
		}
		return x
	}
	ones3 := squared(squared(a, 1).times(a), 1).times(a)
	ones6 := squared(ones3, 3).times(ones3)
	ones12 := squared(ones6, 6).times(ones6)
	ones24 := squared(ones12, 12).times(ones12)
	ones30 := squared(ones24, 6).times(ones6)
	ones31 := squared(ones30, 1).times(a)
	ones32 := squared(ones31, 1).times(a)
	return squared(ones31, 33).times(ones32)
}

// weightResidue returns the residue of a valid weight.
func weightResidue(weight float64) residue {
	const (
		bias  = 1075 // of the exponent, from the last place of the mantissa
		order = 192  // 2^192 is 1
	)
	m, e := fraction.Mantissa(weight)
	r := residue(m)
	up := (int(e) - bias + 8*order) % order
	for ; up > 32; up -= 32 {
		r = r.times(1 << 32)
	}
	return r.times(1 << up)
}
