package pool

import (
	"context"

	"github.com/cellsched/cellsched/resources"
)

// Do acquires need, calls fn, and releases it, also if fn panics. The panic goes
// on to the caller of Do. The context of fn ends with ctx, and as [Lease.Context]
// says. Errors: [ErrConfig] for a nil fn; as [Tenant.Acquire]; else that of fn, which is
// [ErrPreempted] as well where fn fails after the lease was preempted.
func (t *Tenant) Do(ctx context.Context, need resources.Vector, fn func(context.Context, Lease) error) (err error) {
	if t.none() {
		return absent("tenant")
	}
	if fn == nil {
		return noFunc(t.name)
	}
	lease, err := t.Acquire(ctx, need)
	if err != nil {
		return err
	}
	return t.run(ctx, []Lease{lease}, func(ctx context.Context) error { return fn(ctx, lease) })
}

// Do takes the needs of a request for the tenant of a name, as [Pool.Acquire] finds it,
// calls fn with the leases, and releases them, also if fn panics. It is for programs
// with tenants that come and go, such as servers and queue workers.
//
// The context of fn ends with ctx, and when one of the leases is preempted or released:
// see [Lease.Context]. The panic of fn goes on to the caller. Errors: [ErrTenant] for a
// bad name; [ErrConfig] for a nil fn; as [Tenant.Request]; else that of fn, which is
// [ErrPreempted] as well where fn fails after a lease was preempted.
func (p *Pool) Do(ctx context.Context, tenant string, r Request, fn func(context.Context, []Lease) error) error {
	if p.none() {
		return absent("receiver")
	}
	if fn == nil {
		return noFunc(tenant)
	}
	if ctx == nil || ctx.Err() != nil {
		return ended(ctx)
	}
	p.mu.Lock()
	t, err := p.named(tenant)
	if err != nil {
		p.mu.Unlock()
		return err
	}
	leases, err := p.request(ctx, t, &r) // lets go of the mutex
	if err != nil {
		return err
	}
	return t.run(ctx, leases, func(ctx context.Context) error { return fn(ctx, leases) })
}

// run calls fn with the context of leases, and releases them.
func (t *Tenant) run(ctx context.Context, leases []Lease, fn func(context.Context) error) (err error) {
	defer func() {
		for _, l := range leases {
			if e := l.Release(); err == nil {
				err = e
			}
		}
	}()
	t.pool.mu.Lock()
	most := t.set.MaxRun
	for _, l := range leases { // each below the one before, so that the last ends with any
		ctx = t.pool.leases.contextOf(ctx, l.live(), l) //nolint:fatcontext // few leases
	}
	t.pool.mu.Unlock()
	return t.call(ctx, most, fn)
}
