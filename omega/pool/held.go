package pool

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Leases walks the leases that a context was made for, the innermost first. The
// function of [Tenant.Do], [Tenant.Go] or [Pool.Do], and all that it calls with its
// context, finds the machine of its work there. It may yield leases that were released.
func Leases(ctx context.Context) iter.Seq[Lease] {
	return func(yield func(Lease) bool) {
		if ctx == nil {
			return
		}
		c, ok := ctx.Value(heldKey{}).(*leaseContext)
		for ; ok && yield(Lease{pool: c.pool, slot: c.slot, gen: c.gen}); c, ok = c.parent.Value(heldKey{}).(*leaseContext) {
		}
	}
}

// RetryAfter returns how long to wait before a request that failed with err is made
// again, and false where no later request is served, or where the caller gave up.
//
//	ErrQueueFull, ErrWait  as WaitError.RetryAfter says
//	ErrPreempted           at once: the room went to a guarantee
//
// It is for servers and queues that hold a request back elsewhere: as a Retry-After of
// HTTP, or a job that is put off.
func RetryAfter(err error) (after time.Duration, ok bool) {
	var busy *WaitError
	if errors.As(err, &busy) && (errors.Is(err, ErrWait) || errors.Is(err, ErrQueueFull)) {
		return busy.RetryAfter(), true
	}
	return 0, errors.Is(err, ErrPreempted)
}
