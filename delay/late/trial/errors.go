package trial

import (
	"math"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
)

// refuse returns an error of this package that wraps cause.
func refuse(cause error, format string, args ...any) error {
	return fault.Newf("trial", cause, format, args...)
}

// nanos is a number of nanoseconds as a duration, the longest one if it is more.
func nanos(v float64) time.Duration {
	if v >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(v)
}
