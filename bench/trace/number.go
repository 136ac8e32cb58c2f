package trace

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// maxSeconds is the latest time that a [time.Duration] can hold.
const maxSeconds = int64(math.MaxInt64 / time.Second)

// parseInteger reads a decimal number without plus sign, spaces or underscores.
func parseInteger(s string) (int64, bool) {
	if s == "" || s[0] == '+' {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// parseDecimal reads a decimal number without sign, with an exponent or without:
// no underscores, no hexadecimal digits and no words.
func parseDecimal(s string) (float64, bool) {
	if s == "" || strings.Trim(s, "0123456789.eE-") != "" || s[0] == '-' {
		return 0, false
	}
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil
}

// parseSeconds reads a decimal number of seconds, 0 or more, exactly: it has
// nine decimals at most.
func parseSeconds(s string) (time.Duration, bool) {
	whole, fraction, dotted := strings.Cut(s, ".")
	if whole == "" || dotted && (fraction == "" || len(fraction) > 9) {
		return 0, false
	}
	digits := fraction + "000000000"[:9-len(fraction)]
	for _, part := range []string{whole, digits} {
		for i := range len(part) {
			if part[i] < '0' || part[i] > '9' {
				return 0, false
			}
		}
	}
	n, ok := parseInteger(whole)
	if !ok || n >= maxSeconds {
		return 0, false
	}
	ns, _ := parseInteger(digits)
	return time.Duration(n)*time.Second + time.Duration(ns), true
}

// howLong returns how long so many bytes take at a rate in bytes a second, and
// false if that is beyond what a duration can hold.
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
