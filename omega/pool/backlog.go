package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Backlog tells a program when to make refused requests again that it keeps in a queue
// of its own, such as the jobs of a queue in a database. The zero Backlog is empty and
// ready to use. It is safe for concurrent use.
//
// Requests of one tenant come again one after the other, about twice as fast as the
// tenant is served. So the pool always has the next one, and is asked for few in vain.
// Measured, not proven: of 1,000 requests that are made at once, each is refused 3 to 6
// times on average until it is served, where it comes again at the time that Do returns.
// A queue that looks for its requests seldom asks more often in vain: 35 times with a look
// each second and a [Settings.Queue] of 4.
type Backlog struct {
	// Least is the shortest time that Do returns. 0 means one second.
	Least time.Duration
	// Workers is the number of requests that the program makes at a time, such as the
	// goroutines that work its queue. It bounds the requests of a tenant that wait: one
	// waits only where no more of its tenant wait, with itself, than workers are left.
	// So a tenant alone leaves half of the workers that run nothing, and n tenants leave
	// one part of n+1. A request beyond that is served at once or
	// refused with [ErrQueueFull], and comes again. 0 means
	// that [Settings.Queue] alone bounds those that wait: without one, the requests of a
	// tenant that floods take all workers, and other tenants wait behind them. Do refuses
	// a negative number.
	Workers int

	mu      sync.Mutex
	tenants map[string][]time.Time // when requests come again, some in the past
	// Where Workers is set: the calls of Do, and those that wait for a lease, by tenant.
	// busy is their sum, the calls that run fn, and those that stay.
	busy    int
	waiting map[string]int
}

// Do is [Pool.Do] of a pool for a request of such a program. It also returns the time
// after which to make the request again, Least or more, and 0 where no later request is
// served: see [RetryAfter]. A request that found the pool closed may be served by the pool
// of another process. The errors of fn are final, but for one after a lease was preempted.
//
// With stay, Do returns a request that was refused only after that time, and counts its
// worker as taken meanwhile. It is for a request that the queue does not take back, whose
// worker makes it again. Where ctx ends before, again is 0, and the error wraps
// context.Cause(ctx) as well.
//
// Errors besides those of [Pool.Do]: [ErrConfig] for negative Workers. Cost besides: that
// of [WaitError.RetryAfter], and O(1) amortised. A request in the backlog takes 24 bytes
// until it comes again.
func (b *Backlog) Do(
	ctx context.Context, p *Pool, tenant string, r Request, stay bool, fn func(context.Context, []Lease) error,
) (again time.Duration, err error) {
	if b == nil {
		return 0, absent("backlog")
	}
	if b.Workers < 0 {
		return 0, refuse(ErrConfig, fmt.Sprintf("Backlog.Workers %d, want 0 or more", b.Workers))
	}
	began := false
	if b.Workers > 0 {
		r.noQueue = !b.enter(tenant)
		defer b.leave()
	}
	err = p.Do(ctx, tenant, r, func(ctx context.Context, leases []Lease) error {
		began = true
		if b.Workers > 0 {
			b.waited(tenant)
		}
		return fn(ctx, leases)
	})
	if !began && b.Workers > 0 {
		b.waited(tenant)
	}
	switch {
	case !began:
		again = b.after(tenant, err, time.Now())
		if cause := sleep(ctx, again, stay); cause != nil {
			return 0, fmt.Errorf("%w: %w", err, cause)
		}
	case errors.Is(err, ErrPreempted):
		again = b.after(tenant, ErrPreempted, time.Now())
	}
	return again, err
}

// after returns the time after which to make a request of a tenant again that failed
// with err at now, and 0 where that is final.
func (b *Backlog) after(tenant string, err error, now time.Time) time.Duration {
	least := b.Least
	if least <= 0 {
		least = time.Second
	}
	after, ok := RetryAfter(err)
	if !ok {
		if errors.Is(err, ErrClosed) {
			return least
		}
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(tenant, now)
	others := 0
	for other := range b.tenants { // two of them, in the map's random order
		b.forget(other, now)
		if others++; others == 2 {
			break
		}
	}
	ahead := b.tenants[tenant]
	if busy := (*WaitError)(nil); errors.As(err, &busy) {
		after = busy.retryAfter(len(ahead)) / 2
	}
	if n := len(ahead); n > 0 {
		// Behind the last one, not behind the time that the estimate had for all: where that
		// was too long, no request would come for a while.
		after = min(after, ahead[n-1].Sub(now)+after/time.Duration(n+1))
	}
	after = max(least, after)
	if b.tenants == nil {
		b.tenants = map[string][]time.Time{}
	}
	b.tenants[tenant] = append(ahead, now.Add(after))
	return after
}

// forget drops the requests of a tenant that have come again by now. Called with mu held.
func (b *Backlog) forget(tenant string, now time.Time) {
	due := b.tenants[tenant]
	n := 0
	for n < len(due) && !due[n].After(now) {
		n++
	}
	if n == len(due) {
		delete(b.tenants, tenant)
	} else {
		b.tenants[tenant] = due[n:]
	}
}

// enter counts a request of a tenant, and reports whether it may wait.
func (b *Backlog) enter(tenant string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == nil {
		b.waiting = map[string]int{}
	}
	b.busy++
	b.waiting[tenant]++
	return b.waiting[tenant] <= b.Workers-b.busy
}

// waited counts a request of a tenant that waits no longer: it has its lease, or none.
func (b *Backlog) waited(tenant string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting[tenant]--; b.waiting[tenant] == 0 {
		delete(b.waiting, tenant)
	}
}

// leave counts a request that has ended.
func (b *Backlog) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy--
}

// sleep waits for a time if the caller stays. It returns the cause where ctx ends before.
func sleep(ctx context.Context, d time.Duration, stay bool) error {
	if !stay || d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
