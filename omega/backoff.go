package omega

import (
	"math/rand/v2"
	"time"
)

// Backoff is a rule for the wait between attempts that fail in a row: Min after the first
// failure, twice as long after each further one, and at most Max. With a Rand the wait is
// drawn from the upper half of that, so that schedulers do not retry in step. The zero
// Backoff does not wait. Without a Rand it is safe for concurrent use.
type Backoff struct {
	Min, Max time.Duration
	Rand     *rand.Rand
}

// After returns the wait after so many failures in a row. Cost: O(log(Max/Min)).
func (b *Backoff) After(failures int) time.Duration {
	if b == nil {
		return 0
	}
	d := min(b.Min, b.Max)
	for ; failures > 1 && 0 < d && d < b.Max; failures-- {
		if d > b.Max/2 {
			d = b.Max
			break
		}
		d *= 2
	}
	if b.Rand != nil && d > 0 {
		d -= time.Duration(b.Rand.Int64N(int64(d)/2 + 1))
	}
	return max(d, 0)
}
