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
// request has waited. Of more than 1024 tenants it looks at its own and 1023 others,
// which stand for all. Cost: O(tenants), 1024 at most.
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
	var wait time.Duration
	for g := t; g != nil; g = g.parent {
		if b := &g.bucket; b.rate > 0 {
			b.fill(p.at)
			seconds := (ahead + 1 - b.tokens) / b.rate
			wait = max(wait, time.Duration(min(seconds, maxRetry.Seconds())*float64(time.Second)))
		}
	}
	longest := e.Waited
	for o := range p.tenants.beginning(t) {
		if o.first != nil {
			longest = max(longest, p.at-o.first.since)
		}
	}
	var work, running, leases float64
	for o, each := range p.tenants.beginning(t) {
		if o != t && o.queued == 0 && o.leases == 0 {
			continue
		}
		first := ahead
		if o != t {
			first = min(float64(o.queued), (ahead+1)*o.set.Weight/t.set.Weight)
		}
		length, known := p.tenants.fair.Expected(o.user)
		if !known {
			length = longest
		}
		work += each * first * float64(length)
		running += each * float64(o.leases) * float64(length)
		leases += each * float64(o.leases)
	}
	if leases > 0 {
		wait = max(wait, time.Duration((work+running/leases)/leases))
	}
	return min(wait, maxRetry)
}

// maxRetry bounds estimates.
const maxRetry = 24 * time.Hour

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
