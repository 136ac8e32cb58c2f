// Package luby has the lengths of trials that are repeated until one is long enough, where
// nothing is known of how long that is:
//
//	1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8, 1, ...
//
// The first trial of 2^k units is the (2^(k+1) - 1)-th. All trials up to it are (k+1) × 2^k
// units together. Let a trial of R units be long enough, and k the least number with
// 2^k >= R. Then a trial that is long enough has ended after (k+1) × max(1, 2R) units.
//
// Short trials stay frequent, for needs that lack another place and not time. The sequence
// is that of M. Luby, A. Sinclair and D. Zuckerman, "Optimal speedup of Las Vegas
// algorithms", 1993.
package luby

import (
	"math"
	"math/bits"
	"time"
)

// Longest is the longest trial, some 70 years: a time from now on is a valid time.
const Longest = time.Duration(math.MaxInt64 / 4)

// Length returns the length of a trial after so many that were too short, in units of the
// shortest.
func Length(unit time.Duration, before int) time.Duration {
	n := uint64(before) + 1
	for n&(n+1) != 0 { // n is not 2^i - 1: it repeats the beginning
		n -= 1<<(bits.Len64(n)-1) - 1
	}
	times := int64(n/2 + 1)
	if int64(unit) > int64(Longest)/times {
		return Longest
	}
	return time.Duration(int64(unit) * times)
}
