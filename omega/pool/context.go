package pool

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Context returns the context of the lease. It ends with the cause [ErrPreempted]
// when a guarantee of another tenant takes the room back, with [ErrClosed] when
// the pool is shut down and with [ErrReleased] when the lease is released. The
// holder then stops its work and releases the lease.
//
// The context of a task, of [Tenant.Go] and [Tenant.Do], has the values and the
// deadline of the context that the task was given. A request with the context of
// a lease that could wait for that lease alone is refused: see [Tenant.Acquire].
func (l Lease) Context() context.Context {
	if l.pool == nil {
		return released()
	}
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	r := l.live()
	if r == nil {
		return released()
	}
	return l.pool.contextOf(context.Background(), r, l)
}

// released returns a context that has ended.
func released() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errReleasedTwice)
	return ctx
}

// contextOf returns the context of a lease, made on first use below parent.
// Called with mu held.
func (p *Pool) contextOf(parent context.Context, r *record, l Lease) *leaseContext {
	if r.ctx == nil {
		r.ctx = &leaseContext{parent: parent, lease: Lease{pool: p, slot: l.slot, gen: l.gen}}
		switch {
		case p.evicted:
			r.ctx.end(ErrClosed)
		case r.preempted:
			r.ctx.end(errPreempted)
		}
	}
	return r.ctx
}

// leaseContext is a context that costs one object until its end is waited for.
type leaseContext struct {
	parent context.Context //nolint:containedctx // it is a context itself
	lease  Lease

	mu     sync.Mutex
	inner  context.Context //nolint:containedctx // nil until it is needed
	cancel context.CancelCauseFunc
}

// use makes the inner context.
func (c *leaseContext) use() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.inner, c.cancel = context.WithCancelCause(c.parent)
	}
	return c.inner
}

// end ends the context.
func (c *leaseContext) end(cause error) {
	c.use()
	c.cancel(cause)
}

// Deadline returns that of the parent.
func (c *leaseContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done returns a channel that is closed when the context ends.
func (c *leaseContext) Done() <-chan struct{} { return c.use().Done() }

// Err returns nil until the context has ended.
func (c *leaseContext) Err() error {
	if inner := c.made(); inner != nil {
		return inner.Err()
	}
	return c.parent.Err()
}

// Value returns the leases for heldKey, else the parent's value. Of the key that
// [context.Cause] looks up, that is the inner context.
func (c *leaseContext) Value(key any) any {
	if _, ok := key.(heldKey); ok {
		return c
	}
	if inner := c.made(); inner != nil {
		return inner.Value(key)
	}
	return c.parent.Value(key)
}

func (c *leaseContext) made() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inner
}

// heldKey finds the innermost lease that a context was made for.
type heldKey struct{}

// checkNested refuses a request that could only be granted if its own caller
// released what it holds. Called with mu held.
func (p *Pool) checkNested(ctx context.Context, t *Tenant, need *resources.Vector) error {
	c, ok := ctx.Value(heldKey{}).(*leaseContext)
	if !ok {
		return nil
	}
	own := make(map[uint32]resources.Vector)
	var all resources.Vector
	text := ""
	for ; ok; c, ok = c.parent.Value(heldKey{}).(*leaseContext) {
		if c.lease.pool != p {
			continue
		}
		if r := c.lease.live(); r != nil {
			own[r.node] = own[r.node].Add(r.need)
			all = all.Add(r.need)
			text = fmt.Sprintf("%s on %s", p.space.Format(r.need), p.books.machines[r.node].name)
		}
	}
	if len(own) == 0 {
		return nil
	}
	for i := range p.books.machines {
		m := &p.books.machines[i]
		rest, ok := m.capacity.Sub(own[uint32(i)])
		if ok && !m.gone && !m.draining && resources.Fits(need, &rest) {
			return nil
		}
	}
	return refuse(ErrNeed, fmt.Sprintf("need of %q: %s, the caller holds %s and would wait for itself", t.name, p.space.Format(*need), text))
}
