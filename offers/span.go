package offers

import (
	"fmt"
	"math"
	"time"
)

// Span is a length of time, or a default: the zero Span stands for the default of the
// place where it is used. Spans are plain values.
type Span struct {
	d   time.Duration
	set bool
}

// longest is the longest span that ends: a hundred years.
const longest = 100 * 365 * 24 * time.Hour

// For returns the span of that length. One of more than 100 years is that of [Never], so
// that no time that follows from it is beyond what others can represent. A negative one is
// refused with [ErrConfig] where it is used.
func For(d time.Duration) Span {
	if d > longest {
		return Never()
	}
	return Span{d, true}
}

// Never returns the span that does not end.
func Never() Span { return Span{math.MaxInt64, true} }

// String returns the length, "never" or "default".
func (s Span) String() string {
	switch {
	case !s.set:
		return "default"
	case s == Never():
		return "never"
	}
	return s.d.String()
}

// or returns the length, or the default for the zero Span.
func (s Span) or(unset time.Duration) time.Duration {
	if s.set {
		return s.d
	}
	return unset
}

// check returns an error if s is shorter than least.
func (s Span) check(what string, least time.Duration) error {
	if s.set && s.d < least {
		return fmt.Errorf("%w: %s %v: want %v or more", errSpan, what, s.d, least)
	}
	return nil
}

// after returns the end of a span that begins at t, the zero time if it has
// none.
func after(t time.Time, d time.Duration) time.Time {
	if d > longest {
		return time.Time{}
	}
	return t.Add(d)
}

// multiple returns n times d, or never.
func multiple(d time.Duration, n int) time.Duration {
	if d > longest/time.Duration(n) {
		return math.MaxInt64
	}
	return d * time.Duration(n)
}
