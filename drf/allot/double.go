package allot

import "math"

// double is a number of about 104 bits: the sum of two float64, of which lo is at
// most half a unit in the last place of hi. T. J. Dekker, "A floating-point
// technique for extending the available precision", Numerische Mathematik 1971.
//
// The conversions to float64 are needed: without them a compiler may fuse a rounded
// product with the addition behind it, on some platforms. Sums of products would
// then be wrong.
type double struct{ hi, lo float64 }

// whole returns n exactly, for n of at most 2^62.
func whole(n int64) double {
	hi := float64(n)
	return double{hi, float64(n - int64(hi))}
}

// exactSum returns a + b, exactly.
func exactSum(a, b float64) double {
	sum := a + b
	part := sum - a
	return double{sum, (a - (sum - part)) + (b - part)}
}

// normal is exactSum where a is the larger.
func normal(a, b float64) double {
	sum := a + b
	return double{sum, b - (sum - a)}
}

func (a double) plus(b double) double {
	s, t := exactSum(a.hi, b.hi), exactSum(a.lo, b.lo)
	s = normal(s.hi, s.lo+t.hi)
	return normal(s.hi, s.lo+t.lo)
}

func (a double) minus(b double) double { return a.plus(double{-b.hi, -b.lo}) }

func (a double) times(b double) double {
	product := float64(a.hi * b.hi)
	rest := math.FMA(a.hi, b.hi, -product)
	return normal(product, rest+math.FMA(a.hi, b.lo, float64(a.lo*b.hi)))
}

// over returns a / b, digit by digit, a digit being a float64.
func (a double) over(b double) double {
	first := a.hi / b.hi
	a = a.minus(b.times(double{hi: first}))
	second := a.hi / b.hi
	a = a.minus(b.times(double{hi: second}))
	return normal(first, second).plus(double{hi: a.hi / b.hi})
}

func (a double) less(b double) bool { return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo }
