package loop

import (
	"math"
	"math/bits"
	"time"
)

// Distribution is a distribution of durations. The zero Distribution is empty; it is a
// plain value of some 8 kB.
//
// Count, mean, least and most are exact, the mean but for the rounding of a float64.
// Quantiles are within 1/32, 3.2 %, of a duration that was seen. They come from a
// histogram with 16 buckets between each power of two of nanoseconds and the next. Its
// size does not depend on the count.
type Distribution struct {
	count     uint64
	sum       float64
	least     time.Duration
	most      time.Duration
	histogram [subBuckets * (64 - subBits)]uint64
}

const (
	subBits    = 4
	subBuckets = 1 << subBits
)

// Add counts one duration. A negative one counts as 0.
func (d *Distribution) Add(t time.Duration) {
	t = max(t, 0)
	if d.count == 0 || t < d.least {
		d.least = t
	}
	d.most = max(d.most, t)
	d.count++
	d.sum += float64(t)
	d.histogram[bucket(uint64(t))]++
}

// Count returns how many durations were counted.
func (d *Distribution) Count() uint64 { return d.count }

// Mean returns their mean, 0 if there is none.
func (d *Distribution) Mean() time.Duration {
	if d.count == 0 {
		return 0
	}
	return time.Duration(math.Round(d.sum / float64(d.count)))
}

// Max returns the longest, 0 if there is none.
func (d *Distribution) Max() time.Duration { return d.most }

// Quantile returns a duration that a share q of all did not exceed: 0.5 is the
// median, 0.9 the p90. It is 0 if there is none. Cost: O(1), some 1,000 steps.
func (d *Distribution) Quantile(q float64) time.Duration {
	if d.count == 0 {
		return 0
	}
	rank := uint64(math.Ceil(min(max(q, 0), 1) * float64(d.count)))
	for i, n := range &d.histogram {
		if n >= rank && n > 0 {
			return min(max(middle(i), d.least), d.most)
		}
		rank -= n
	}
	return d.most
}

// bucket returns the number of the bucket of t: the first 16 hold one duration
// each, the others are told apart by the 4 bits after the highest.
func bucket(t uint64) int {
	if t < subBuckets {
		return int(t)
	}
	shift := bits.Len64(t) - subBits - 1
	return (shift+1)<<subBits | int(t>>shift)&(subBuckets-1)
}

// middle returns the middle of a bucket.
func middle(i int) time.Duration {
	if i < subBuckets {
		return time.Duration(i)
	}
	shift := i>>subBits - 1
	low := uint64(subBuckets|i&(subBuckets-1)) << shift
	return time.Duration(low + 1<<shift/2)
}
