package pool

import (
	"errors"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// WaitError reports a request that was not served in time, with the cause of its wait. It
// wraps [ErrWait], [ErrQueueFull], or the cause of the context that ended. Its text is
// made when it is read. One that a caller makes wraps nothing, and its RetryAfter is 0.
type WaitError struct {
	Tenant string
	Need   resources.Vector // the sum of several needs
	Waited time.Duration    // 0 where the queue was full
	Others int              // other tenants that had requests waiting

	tenant *Tenant
	cause  error
	why    reason
}

// failed returns the error of a request that gives up after n others of its
// tenant. Called with mu held, after a tick.
func (ad *admission) failed(w *waiter, n int, cause error) *WaitError {
	e := &WaitError{
		Tenant: w.tenant.name, Need: w.need, Waited: ad.at - w.since, Others: ad.waits.queues, tenant: w.tenant, cause: cause,
		why: ad.reason(w, n),
	}
	if w.tenant.queued > 0 {
		e.Others--
	}
	return e
}

// behind returns how many requests of its tenant are ahead of w, up to a few.
// Called with mu held.
func (w *waiter) behind() (n int) {
	for w = w.prev; w != nil && n < lookahead; w = w.prev {
		n++
	}
	return n
}

// Error returns the tenant, the need, the shortage and the condition.
func (e *WaitError) Error() string {
	if e == nil {
		return "pool: no request has failed"
	}
	if e.tenant == nil { // made by the caller
		return fmt.Sprintf("pool: request of %q for %s: it waited for %v", e.Tenant, (*resources.Space)(nil).Format(e.Need), short(e.Waited))
	}
	p := e.tenant.pool
	text := fmt.Sprintf("pool: request of %q for %s: %s; ", e.Tenant, p.space.Format(e.Need), e.why(p))
	switch e.Others {
	case 0:
		text += "no other tenant waits"
	case 1:
		text += "1 other tenant waits"
	default:
		text += fmt.Sprintf("%d other tenants wait", e.Others)
	}
	if !errors.Is(e.cause, ErrQueueFull) {
		text += fmt.Sprintf("; it waited for %v", short(e.Waited))
	}
	var other *WaitError
	if errors.As(e.cause, &other) { // its reasons do not apply to this request
		return text + fmt.Sprintf(": request of %q failed: ", other.Tenant) + fault.Bare(other.condition())
	}
	return text + ": " + fault.Bare(e.cause)
}

// condition returns the cause below all errors of requests.
func (e *WaitError) condition() error {
	for other := (*WaitError)(nil); errors.As(e.cause, &other); {
		e = other
	}
	return e.cause
}

// short rounds a time for people: to milliseconds, where it has some.
func short(d time.Duration) time.Duration {
	if d < 10*time.Millisecond {
		return d
	}
	return d.Round(time.Millisecond)
}

// Unwrap returns the condition, or the cause of the context.
func (e *WaitError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.cause
}

// RetryAfter estimates how long a request of the same tenant would wait now, as for the
// header of that name. It is the larger of two times:
//
//  1. until the rate has a token for it, behind the requests of its tenant that wait;
//  2. until the requests ahead of it were served and a lease is released.
//
// Ahead are the requests of its tenant. Of each other tenant, its weight decides how many
// requests are ahead. As many leases run at a time as now, each for the mean length of
// its tenant's tasks. Sizes of needs are ignored.
//
// Before the first task has ended no length is known. Tasks then count as long as the
// longest wait so far, of this request and of the first of each queue. That is 0 where no
// request has waited. Of more than 64 tenants it looks at its own and 63 others, which
// stand for all that wait or hold leases. Cost: O(tenants), 64 at most.
func (e *WaitError) RetryAfter() time.Duration { return e.retryAfter(0) }

// retryAfter is RetryAfter behind further requests of the tenant.
func (e *WaitError) retryAfter(further int) time.Duration {
	if e == nil || e.tenant == nil {
		return 0
	}
	p, t := e.tenant.pool, e.tenant
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick()
	ahead := float64(t.queued) + float64(further)
	wait := max(t.untilToken(p.at, ahead), p.untilServed(t, ahead, e.Waited))
	return min(wait, maxRetry)
}

// maxRetry bounds estimates.
const maxRetry = 24 * time.Hour

// untilToken estimates when the rates of a tenant and its groups have a token for a
// request behind others of its tenant. Called with mu held, after a tick.
func (t *Tenant) untilToken(now time.Duration, ahead float64) (wait time.Duration) {
	for g := t; g != nil; g = g.parent {
		if b := &g.bucket; b.rate > 0 {
			b.fill(now)
			seconds := (ahead + 1 - b.tokens) / b.rate
			wait = max(wait, time.Duration(min(seconds, maxRetry.Seconds())*float64(time.Second)))
		}
	}
	return wait
}

// untilServed estimates when a request behind others of its tenant gets a lease. The
// tenants are a sample: those seen stand for all that wait, and for all leases. Called
// with mu held, after a tick.
func (c *core) untilServed(t *Tenant, ahead float64, longest time.Duration) time.Duration {
	leases := float64(c.leases.held)
	if leases == 0 {
		return 0
	}
	var seen sample
	for o := range c.tenants.around(t) {
		if o.first != nil {
			longest = max(longest, c.at-o.first.since)
		}
	}
	length := func(o *Tenant) float64 {
		if d, known := c.tenants.fair.Expected(o.user); known {
			return float64(d)
		}
		return float64(longest)
	}
	for o := range c.tenants.around(t) {
		if o.queued == 0 && o.leases == 0 {
			continue
		}
		each := length(o)
		seen.leases += float64(o.leases)
		seen.running += float64(o.leases) * each
		if o != t && o.queued > 0 {
			seen.waiting++
			seen.work += each * min(float64(o.queued), (ahead+1)*o.set.Weight/t.set.Weight)
		}
	}
	others := float64(c.waits.queues)
	if t.queued > 0 {
		others--
	}
	own := length(t)
	work := ahead * own
	switch {
	case seen.waiting > 0:
		work += seen.work * others / seen.waiting
	case others > 0: // none seen: they are taken for tenants like this one
		work += own * min(float64(c.waits.waiting-t.queued), (ahead+1)*others)
	}
	running := own // the mean length of the tasks that run
	if seen.leases > 0 {
		running = seen.running / seen.leases
	}
	return time.Duration(min((work+running)/leases, float64(maxRetry)))
}

// sample holds the sums over the tenants that an estimate looks at.
type sample struct {
	leases, running float64 // leases, and the sum of their lengths in nanoseconds
	waiting, work   float64 // other tenants that wait, and the length of what is ahead
}

// gaveUp counts a wait that ended without a lease.
func (t *Tenant) gaveUp(cause error) {
	switch {
	case errors.Is(cause, ErrWait):
		t.timedOut++
	case errors.Is(cause, ErrQueueFull):
		t.queueFull++
	default:
		t.cancelled++
	}
}
