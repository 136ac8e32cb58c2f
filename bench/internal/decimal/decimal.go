// Package decimal reads decimal numbers of files exactly, with an exponent or
// without: nothing is rounded.
//
// A number is digits, perhaps with a minus sign in front, a point and digits behind,
// and an exponent behind that: 7, -0.25, 2.67754e+06, 1E-3. A plus sign in front,
// spaces, underscores, hexadecimal digits and words such as NaN and Inf are none.
package decimal

import (
	"strconv"
	"strings"
)

// number is a number taken apart: its value is digits × 10^exponent. There are no
// zeros at either end of digits, and none at all for 0.
type number struct {
	negative bool
	digits   string
	exponent int
}

// maxExponent bounds exponents, far beyond any that a caller can hold.
const maxExponent = 1 << 30

func parse(s string) (n number, ok bool) {
	s, n.negative = strings.CutPrefix(s, "-")
	mantissa, exponent, some := s, "", false
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		mantissa, exponent, some = s[:at], s[at+1:], true
	}
	whole, fraction, point := strings.Cut(mantissa, ".")
	if !isDigits(whole) || point && !isDigits(fraction) {
		return number{}, false
	}
	if some {
		sign := 1
		if rest, minus := strings.CutPrefix(exponent, "-"); minus {
			exponent, sign = rest, -1
		} else {
			exponent = strings.TrimPrefix(exponent, "+")
		}
		if !isDigits(exponent) {
			return number{}, false
		}
		for _, c := range exponent {
			n.exponent = min(10*n.exponent+int(c-'0'), maxExponent)
		}
		n.exponent *= sign
	}
	n.exponent -= len(fraction)
	n.digits = strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(n.digits, "0")
	n.exponent += len(n.digits) - len(short)
	if n.digits = short; short == "" {
		n.exponent = 0
	}
	return n, true
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// Valid reports whether s is a number.
func Valid(s string) bool {
	_, ok := parse(s)
	return ok
}

// Scaled returns s × 10^scale, and false if s is no number, or that is not a whole
// number, or not one of an int64. Cost: O(len(s)).
func Scaled(s string, scale int) (int64, bool) {
	n, ok := parse(s)
	if !ok {
		return 0, false
	}
	zeros := n.exponent + scale
	const most = 19 // digits of an int64
	switch {
	case n.digits == "":
		return 0, true
	case zeros < 0 || len(n.digits)+zeros > most:
		return 0, false
	}
	text := n.digits + strings.Repeat("0", zeros)
	if n.negative {
		text = "-" + text
	}
	v, err := strconv.ParseInt(text, 10, 64)
	return v, err == nil
}

// Plain returns s without its exponent: digits, perhaps with a point. It returns false
// if s is no number with an exponent, or if the result has more than most bytes.
func Plain(s string, most int) (string, bool) {
	n, ok := parse(s)
	if !ok || !strings.ContainsAny(s, "eE") {
		return "", false
	}
	sign := ""
	if n.negative {
		sign = "-"
	}
	length := len(sign) + max(len(n.digits), 1) + max(n.exponent, 0)
	if n.exponent < 0 {
		length = len(sign) + max(len(n.digits), 1-n.exponent) + 1
	}
	switch {
	case length > most:
		return "", false
	case n.digits == "":
		return sign + "0", true
	case n.exponent >= 0:
		return sign + n.digits + strings.Repeat("0", n.exponent), true
	}
	digits := strings.Repeat("0", max(0, 1-n.exponent-len(n.digits))) + n.digits
	point := len(digits) + n.exponent
	return sign + digits[:point] + "." + digits[point:], true
}
