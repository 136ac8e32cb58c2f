package resources

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// maxQuantityText bounds the digits that are multiplied out. The longest
// quantity that is ever written, 2^62-1 at 2^62 base units to one, has 64.
const maxQuantityText = 128

const wantQuantity = "want a decimal number with an optional suffix n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi or Ei"

// A suffix multiplies the number before it by num/den.
type suffix struct {
	name     string
	num, den int64
}

// Largest first, the order in which a printer tries them. Never written to.
var (
	decimalSuffixes = [...]suffix{
		{"E", 1e18, 1},
		{"P", 1e15, 1},
		{"T", 1e12, 1},
		{"G", 1e9, 1},
		{"M", 1e6, 1},
		{"k", 1e3, 1},
		{"", 1, 1},
		{"m", 1, 1e3},
		{"u", 1, 1e6},
		{"n", 1, 1e9},
	}
	binarySuffixes = [...]suffix{
		{"Ei", 1 << 60, 1},
		{"Pi", 1 << 50, 1},
		{"Ti", 1 << 40, 1},
		{"Gi", 1 << 30, 1},
		{"Mi", 1 << 20, 1},
		{"Ki", 1 << 10, 1},
		{"", 1, 1},
		{"m", 1, 1e3},
		{"u", 1, 1e6},
		{"n", 1, 1e9},
	}
)

// parseQuantity reads a number of written units of d and returns it in base
// units.
func parseQuantity(text string, d Dimension) (int64, error) {
	end := strings.IndexFunc(text, func(c rune) bool { return (c < '0' || c > '9') && c != '.' })
	if end < 0 {
		end = len(text)
	}
	return baseUnits(text, text[:end], text[end:], 0, d)
}

// parseNumber is parseQuantity for a JSON number, which has no suffix but may
// have an exponent.
func parseNumber(text string, d Dimension) (int64, error) {
	number, exponent := text, 0
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		var err error
		if exponent, err = strconv.Atoi(text[at+1:]); err != nil || max(exponent, -exponent) > maxQuantityText {
			return 0, fmt.Errorf("%w: %s is %.64s, want an exponent of at most %d", ErrQuantity, d.Name, text, maxQuantityText)
		}
		number = text[:at]
	}
	return baseUnits(text, number, "", exponent, d)
}

// baseUnits returns number × 10^exponent × suffix, the value of text, in base units
// of d.
func baseUnits(text, number, suffix string, exponent int, d Dimension) (int64, error) {
	if len(text) > maxQuantityText {
		return 0, fmt.Errorf("%w: %s is %d bytes long, want at most %d", ErrQuantity, d.Name, len(text), maxQuantityText)
	}
	if strings.HasPrefix(text, "-") {
		return 0, fmt.Errorf("%w: %s is %q, want 0 or more", ErrQuantity, d.Name, text)
	}
	whole, fraction, point := strings.Cut(number, ".")
	digits, ok := new(big.Int).SetString(whole+fraction, 10)
	scale := scaleOf(suffix)
	if !ok || scale == nil || whole == "" || point && fraction == "" {
		return 0, fmt.Errorf("%w: %s is %q, %s", ErrQuantity, d.Name, text, wantQuantity)
	}
	value := new(big.Rat).SetInt(digits)
	value.Mul(value, scale)
	value.Mul(value, powerOfTen(exponent-len(fraction)))
	return whole64(value, text, d)
}

// whole64 returns value, the number of written units in text, in base units of d.
// It returns an error if that is too large or not a whole number.
func whole64(value *big.Rat, text string, d Dimension) (int64, error) {
	units := new(big.Rat).Mul(value, new(big.Rat).SetInt64(d.PerUnit))
	if units.Cmp(new(big.Rat).SetInt64(MaxQuantity)) > 0 {
		return 0, fmt.Errorf("%w: %s is %q, want at most %s", ErrQuantity, d.Name, text, formatQuantity(MaxQuantity, d))
	}
	if !units.IsInt() {
		return 0, fmt.Errorf("%w: %s is %q, want a whole number of base units, which are %d to one", ErrQuantity, d.Name, text, d.PerUnit)
	}
	return units.Num().Int64(), nil
}

// formatQuantity writes q base units of d, exactly. q is not 0, for which any
// suffix would do.
func formatQuantity(q int64, d Dimension) string {
	suffixes := &decimalSuffixes
	if d.Binary {
		suffixes = &binarySuffixes
	}
	value := big.NewRat(q, d.PerUnit)
	if unit := value.Denom().Int64(); unit <= 1e9 { // the n of the smallest suffix
		n := q / (d.PerUnit / unit)
		for _, s := range suffixes {
			// n/unit is in lowest terms and one of num and den is 1, so
			// each has to divide on its own.
			if n%s.num == 0 && s.den%unit == 0 {
				return new(big.Int).Mul(big.NewInt(n/s.num), big.NewInt(s.den/unit)).String() + s.name
			}
		}
	}
	// Less than a billionth of a written unit is left over.
	digits, _ := value.FloatPrec()
	return value.FloatString(digits)
}

// scaleOf returns the factor of a suffix, or nil if it is unknown.
func scaleOf(name string) *big.Rat {
	for _, suffixes := range [...]*[10]suffix{&decimalSuffixes, &binarySuffixes} {
		for _, s := range suffixes {
			if s.name == name {
				return big.NewRat(s.num, s.den)
			}
		}
	}
	return nil
}

func powerOfTen(n int) *big.Rat {
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil)
	if n < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), power)
	}
	return new(big.Rat).SetInt(power)
}

// decimal reports whether 1/n is a decimal number of finitely many digits.
func decimal(n int64) bool {
	for _, p := range [...]int64{2, 5} {
		for n%p == 0 && n > 0 {
			n /= p
		}
	}
	return n == 1
}
