package trace

import (
	"math"
	"math/bits"
	"strconv"
	"time"

	"github.com/cellsched/cellsched/bench/internal/decimal"
)

// maxSeconds is the latest time that a [time.Duration] can hold.
const maxSeconds = int64(math.MaxInt64 / time.Second)

// parseInteger reads a decimal number that is whole, exactly: see package decimal.
func parseInteger(s string) (int64, bool) { return decimal.Scaled(s, 0) }

// parseDecimal reads a decimal number without sign: the nearest float64 to it.
func parseDecimal(s string) (float64, bool) {
	if !decimal.Valid(s) || s[0] == '-' {
		return 0, false
	}
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil
}

// parseSeconds reads a decimal number of seconds, 0 or more, exactly: it is a whole
// number of nanoseconds.
func parseSeconds(s string) (time.Duration, bool) {
	ns, ok := decimal.Scaled(s, 9)
	if !ok || s[0] == '-' || ns >= maxSeconds*int64(time.Second) {
		return 0, false
	}
	return time.Duration(ns), true
}

// howLong returns the time for so many bytes at a rate in bytes a second, and
// false if that is beyond the range of a duration.
func howLong(size, rate int64) (time.Duration, bool) {
	hi, lo := bits.Mul64(uint64(size), uint64(time.Second))
	if hi >= uint64(rate) {
		return 0, false
	}
	ns, _ := bits.Div64(hi, lo, uint64(rate))
	return time.Duration(ns), ns <= math.MaxInt64
}

// parts returns how many pieces of a size something is, the last one perhaps
// smaller; at least 1.
func parts(all, size int64) int64 {
	return max(1, all/size+min(1, all%size))
}
