// Package interval says how well the mean of a few runs is known.
package interval

import "math"

// Estimate is a mean and the half-width of its confidence interval of 95 %, by
// Student's distribution. One value alone has an infinite half-width.
type Estimate struct {
	Mean, Half float64
}

// Of returns the estimate of the mean of values, the zero Estimate of none.
func Of(values []float64) Estimate {
	n := float64(len(values))
	if n == 0 {
		return Estimate{}
	}
	e := Estimate{Half: math.Inf(1)}
	for _, v := range values {
		e.Mean += v / n
	}
	if n > 1 {
		sum := 0.0
		for _, v := range values {
			sum += (v - e.Mean) * (v - e.Mean)
		}
		e.Half = Student(len(values)-1) * math.Sqrt(sum/(n-1)/n)
	}
	return e
}

// Paired returns the estimate of the mean difference a[i] − b[i], where a[i] and b[i]
// are of the same seed. They are to be as many.
func Paired(a, b []float64) Estimate {
	apart := make([]float64, len(a))
	for i := range a {
		apart[i] = a[i] - b[i]
	}
	return Of(apart)
}

// Ratio returns the geometric mean of a[i] / b[i] with the ends of its interval, where
// a[i] and b[i] are of the same seed. Values of 0 or less have no ratio: then the
// interval is from 0 to infinity.
func Ratio(a, b []float64) (low, mean, high float64) {
	logs := make([]float64, len(a))
	for i := range a {
		if !(a[i] > 0 && b[i] > 0) {
			return 0, math.NaN(), math.Inf(1)
		}
		logs[i] = math.Log(a[i] / b[i])
	}
	e := Of(logs)
	return math.Exp(e.Low()), math.Exp(e.Mean), math.Exp(e.High())
}

// Low returns the lower end of the interval.
func (e Estimate) Low() float64 { return e.Mean - e.Half }

// High returns the upper end of the interval.
func (e Estimate) High() float64 { return e.Mean + e.Half }

// Student returns the 97.5 % quantile of Student's distribution with that many degrees
// of freedom, 1 or more, to within 0.001.
func Student(freedom int) float64 {
	table := [...]float64{
		12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
		2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
	}
	if freedom <= len(table) {
		return table[freedom-1]
	}
	// The expansion of Fisher and Cornish around the normal quantile.
	const z = 1.959964
	n := float64(freedom)
	return z + (z*z*z+z)/(4*n) + (5*z*z*z*z*z+16*z*z*z+3*z)/(96*n*n)
}

// Verdict is the truth of a statement, as far as intervals decide it.
type Verdict uint8

// The verdicts.
const (
	Open    Verdict = iota // the interval has values for which it holds, and others
	Holds                  // it holds in all of the interval
	Differs                // it holds nowhere in it
)

// String returns "open", "holds" or "differs".
func (v Verdict) String() string {
	return [...]string{"open", "holds", "differs"}[v]
}

// MarshalText is String.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the text that [Verdict.MarshalText] writes.
func (v *Verdict) UnmarshalText(text []byte) error {
	for one := Open; one <= Differs; one++ {
		if one.String() == string(text) {
			*v = one
			return nil
		}
	}
	return &unknownError{string(text)}
}

type unknownError struct{ text string }

func (e *unknownError) Error() string {
	return "interval: verdict \"" + e.text + "\": want open, holds or differs"
}

// AtMost judges that something with an interval from low to high is at most a bound.
func AtMost(low, high, bound float64) Verdict {
	switch {
	case high <= bound:
		return Holds
	case low > bound:
		return Differs
	}
	return Open
}

// AtLeast judges that something with an interval from low to high is at least a bound.
func AtLeast(low, high, bound float64) Verdict { return AtMost(-high, -low, -bound) }

// All judges that several statements hold together: it differs if one does, and holds
// if all do.
func All(verdicts ...Verdict) Verdict {
	all := Holds
	for _, v := range verdicts {
		if v == Differs {
			return Differs
		}
		if v == Open {
			all = Open
		}
	}
	return all
}

// Any judges that one statement at least holds.
func Any(verdicts ...Verdict) Verdict {
	some := Differs
	for _, v := range verdicts {
		if v == Holds {
			return Holds
		}
		if v == Open {
			some = Open
		}
	}
	return some
}
