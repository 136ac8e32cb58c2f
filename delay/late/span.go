package late

import "math"

// Values are sorted into buckets by their leading bits: the exponent and six bits
// of the mantissa. So two values share a bucket only if they are within 1/64 of
// each other, whatever their size. The tasks of a job need a few hundred buckets.
const (
	mantissa = 52 - 6
	smallest = 0x1p-40 // smaller values share its bucket, larger ones that of
	largest  = 0x1p40
)

// top is the largest key: 64 buckets in each of 80 octaves, and the last.
const top = 80<<6 + 1

// key returns the number of a value's bucket, rising with the value. Zero and NaN
// have bucket 0.
func key(v float64) int32 {
	if !(v > 0) {
		return 0
	}
	v = min(max(v, smallest), largest)
	return int32(math.Float64bits(v)>>mantissa-math.Float64bits(smallest)>>mantissa) + 1
}

// middle returns the value in the middle of a bucket.
func middle(key int32) float64 {
	if key == 0 {
		return 0
	}
	first := math.Float64bits(smallest)>>mantissa + uint64(key-1)
	return math.Float64frombits(first<<mantissa | 1<<(mantissa-1))
}

// span maps the keys in use to the leaves of a complete binary tree: key 0 to
// leaf 0, the others to leaf key - base + 1. The root of a tree is node 1, the
// children of node i are 2i and 2i+1, leaf l is node leaves + l.
type span struct {
	base   int32
	leaves int32 // a power of two, or 0 before the first key
}

// has reports whether the key has a leaf.
func (s span) has(key int32) bool {
	if key == 0 {
		return s.leaves > 0
	}
	return key >= s.base && key-s.base+1 < s.leaves
}

// leaf returns the number of the key's leaf. The caller checks has(key).
func (s span) leaf(key int32) int32 {
	if key == 0 {
		return 0
	}
	return key - s.base + 1
}

// key returns the key of a leaf.
func (s span) key(leaf int32) int32 {
	if leaf == 0 {
		return 0
	}
	return s.base + leaf - 1
}

// widened returns a span with room for one more key, at least twice as wide as
// before. So the keys that made it grow pay for it.
func (s span) widened(key int32) span {
	if s.leaves == 0 {
		return span{base: max(1, key-15), leaves: 32}
	}
	low, high := s.base, min(s.base+s.leaves-2, top)
	if key != 0 {
		low, high = min(low, key), max(high, key)
	}
	leaves := s.leaves
	for high-low+2 > leaves {
		leaves *= 2
	}
	if low < s.base { // room on the side of the new key
		low = max(1, high+2-leaves)
	}
	return span{base: low, leaves: leaves}
}
