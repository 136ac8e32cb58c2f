package omega

import (
	"sync/atomic"
	"time"

	"github.com/cellsched/cellsched/omega/observe"
)

// waitTimes are the lengths of a Scheduler's Waits. The Wait in progress alone writes
// them, so a store after a load loses nothing. The explorer does not see these atomics:
// nothing is decided by them.
type waitTimes struct {
	buckets [len(observe.Histogram{}.Buckets)]atomic.Uint64
	sum     atomic.Int64
}

// noteWait counts a Wait that has returned nil.
func (c *counts) noteWait(d time.Duration) {
	w := c.waited.Load()
	if w == nil {
		w = new(waitTimes)
		c.waited.Store(w)
	}
	var one observe.Histogram
	one.Add(d)
	for i, n := range &one.Buckets {
		if n > 0 {
			w.buckets[i].Store(w.buckets[i].Load() + n)
		}
	}
	w.sum.Store(w.sum.Load() + int64(one.Sum))
}

// read returns the lengths so far, nil for none. A Wait that ends now may be there in part.
func (w *waitTimes) read() *observe.Histogram {
	if w == nil {
		return nil
	}
	h := &observe.Histogram{Sum: time.Duration(w.sum.Load())}
	for i := range h.Buckets {
		h.Buckets[i] = w.buckets[i].Load()
	}
	return h
}
