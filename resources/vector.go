package resources

import (
	"errors"
	"fmt"
	"math/bits"
)

// MaxKinds is the number of kinds of resource in a [Vector].
const MaxKinds = 8

// MaxQuantity is the largest component a valid [Vector] may have, 2^62.
//
// It leaves room for one addition in 64 bits without a sign, which lets sums be
// checked with a single comparison.
const MaxQuantity int64 = 1 << 62

// ErrQuantity reports a component of a vector or a quantity that is negative,
// larger than [MaxQuantity], or not a whole number of base units.
var ErrQuantity = errors.New("resources: invalid quantity")

// Kind is the position of one kind of resource in a [Vector], 0 to [MaxKinds]-1. A
// [Space] has its name.
type Kind uint8

// Vector is an amount of each resource kind, in that kind's base unit
// (millicores, bytes, slots).
//
// The zero Vector asks for nothing and fits everywhere. Vectors are plain
// values: compare them with ==, copy them, share them between goroutines.
// Components are meant to be in [0, MaxQuantity]: call [Vector.Check] for a vector from
// outside. No method panics or allocates, whatever the components. Results for an
// invalid vector are stated for [Vector.Fits] and [Vector.Sub] and unspecified
// elsewhere.
type Vector [MaxKinds]int64

// Uniform returns the vector of q of every kind, valid or not.
//
// Every valid vector fits in Uniform([MaxQuantity]). None fits in Uniform(-1),
// the zero Vector included, and Uniform(math.MaxInt64) fits nowhere.
func Uniform(q int64) (v Vector) {
	for k := range v {
		v[k] = q
	}
	return v
}

// Add returns v + w, each component no larger than [MaxQuantity].
//
// With the zero Vector as its neutral element, Add makes the valid vectors a
// commutative monoid: saturating at the top keeps it associative.
func (v Vector) Add(w Vector) Vector {
	for k := range v {
		// Two valid components add up to at most 2^63, which a uint64 holds.
		v[k] = int64(min(uint64(v[k])+uint64(w[k]), uint64(MaxQuantity)))
	}
	return v
}

// Sub returns v - w and true, or the zero Vector and false where w does not
// fit in v as [Vector.Fits] has it.
func (v Vector) Sub(w Vector) (rest Vector, ok bool) {
	// One pass that writes into the result. Calling Fits first, or working in v and
	// returning that, copies 64 bytes once more and took a third longer.
	for k := range rest {
		if uint64(w[k]) > uint64(v[k]) || uint64(v[k]) > uint64(MaxQuantity) {
			return Vector{}, false
		}
		rest[k] = v[k] - w[k]
	}
	return rest, true
}

// Fits reports whether every component of v is at most that of free. A
// component outside [0, MaxQuantity] on either side never fits, so that a
// forged demand can neither wrap around nor add room.
func (v Vector) Fits(free Vector) bool { return Fits(&v, &free) }

// Fits is [Vector.Fits] for vectors that are in memory already: it takes a
// third of the time, since copying 128 bytes costs more than comparing them.
// It is for searches over many machines or users. Neither may be nil, which is not
// checked: two more comparisons took 15 % of a search that asks it for each class of
// tasks.
func Fits(v, free *Vector) bool {
	// Kinds are written out, which takes half the time of a loop. With another
	// number of them this does not compile.
	const _ = uint(MaxKinds-8) + uint(8-MaxKinds)
	// Compared as unsigned, a negative number is too large.
	f0, f1, f2, f3 := uint64(free[0]), uint64(free[1]), uint64(free[2]), uint64(free[3])
	if uint64(v[0]) > f0 || uint64(v[1]) > f1 || uint64(v[2]) > f2 || uint64(v[3]) > f3 {
		return false
	}
	f4, f5, f6, f7 := uint64(free[4]), uint64(free[5]), uint64(free[6]), uint64(free[7])
	if uint64(v[4]) > f4 || uint64(v[5]) > f5 || uint64(v[6]) > f6 || uint64(v[7]) > f7 {
		return false
	}
	// v is no larger than free, so that free alone is left to be checked. All
	// at once will do unless a component is in the upper quarter of its range.
	const most = uint64(MaxQuantity)
	return f0|f1|f2|f3|f4|f5|f6|f7 <= most ||
		max(f0, f1, f2, f3, f4, f5, f6, f7) <= most
}

// Scale returns n times v, each component no larger than [MaxQuantity]. For n
// of zero or less that is the zero Vector.
func (v Vector) Scale(n int64) Vector {
	if n <= 0 {
		return Vector{}
	}
	for k := range v {
		hi, lo := bits.Mul64(uint64(v[k]), uint64(n))
		if hi != 0 || lo > uint64(MaxQuantity) {
			lo = uint64(MaxQuantity)
		}
		v[k] = int64(lo)
	}
	return v
}

// Max returns the larger of v and w, component by component: the least vector
// in which both fit.
func (v Vector) Max(w Vector) Vector {
	for k := range v {
		v[k] = max(v[k], w[k])
	}
	return v
}

// Min returns the smaller of v and w, component by component: the largest
// vector that fits in both.
func (v Vector) Min(w Vector) Vector {
	for k := range v {
		v[k] = min(v[k], w[k])
	}
	return v
}

// DominantShare returns the largest fraction v[k]/total[k], and its kind k; the
// lower kind in a tie.
//
// Ok is false, and share 0, if v has some of a kind that total has none of: no
// number of such totals would ever satisfy it. Kind then names the first such kind.
// A kind without an amount in v plays no part, so the result is never NaN or
// infinite. Ghodsi et al., NSDI 2011, section 4.1.
func (v Vector) DominantShare(total Vector) (share float64, kind Kind, ok bool) {
	var num, den int64 = 0, 1 // the largest fraction so far, exactly
	for k := range v {
		if v[k] <= 0 {
			continue
		}
		if total[k] <= 0 {
			return 0, Kind(k), false
		}
		// Exact, so that a tie is a tie whatever the totals' sizes:
		// v[k]/total[k] > num/den by 128-bit cross product.
		ahi, alo := bits.Mul64(uint64(v[k]), uint64(den))
		bhi, blo := bits.Mul64(uint64(num), uint64(total[k]))
		if ahi > bhi || ahi == bhi && alo > blo {
			num, den, kind = v[k], total[k], Kind(k)
		}
	}
	return float64(num) / float64(den), kind, true
}

// Check returns an error wrapping [ErrQuantity] that names the first component
// outside [0, MaxQuantity], or nil.
func (v Vector) Check() error {
	for k, q := range v {
		if q < 0 || q > MaxQuantity {
			return fmt.Errorf("%w: kind%d=%d, want 0 to 2^62", ErrQuantity, k, q)
		}
	}
	return nil
}
