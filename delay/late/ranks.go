package late

import "math"

// ranks counts values by bucket, as sums in a tree. It returns any percentile of
// values that come, change and go. The zero ranks is empty. Cost: O(log buckets),
// no allocation once the buckets are there.
type ranks struct {
	span
	sum []int32 // by node of the tree
}

// add counts one value more, or less, in a bucket.
func (r *ranks) add(key, by int32) {
	if !r.has(key) {
		r.grow(key)
	}
	for i := r.leaves + r.leaf(key); i > 0; i /= 2 {
		r.sum[i] += by
	}
}

// len returns the number of values.
func (r *ranks) len() int {
	if r.leaves == 0 {
		return 0
	}
	return int(r.sum[1])
}

// percentile returns the bucket of the value at the nearest rank: number ⌈p·n⌉ in
// rising order, the first at least. There has to be a value.
func (r *ranks) percentile(p float64) int32 {
	left := int32(max(1, ceil(p*float64(r.len()))))
	i := int32(1)
	for i < r.leaves {
		i *= 2
		if r.sum[i] < left {
			left -= r.sum[i]
			i++
		}
	}
	return r.key(i - r.leaves)
}

func (r *ranks) grow(key int32) {
	old := *r
	r.span = old.widened(key)
	r.sum = make([]int32, 2*r.leaves)
	for l := range old.leaves {
		if n := old.sum[old.leaves+l]; n != 0 {
			r.add(old.key(l), n)
		}
	}
}

// ceil and floor round a product of a share and a count. The share is rarely exact
// in binary; that error does not move the result by one.
func ceil(v float64) int  { return int(math.Ceil(v - 1e-9)) }
func floor(v float64) int { return int(math.Floor(v + 1e-9)) }
