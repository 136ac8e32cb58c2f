package pool

import (
	"context"
	"sync/atomic"
	"time"
)

// ended returns the error of a caller's context that is nil or has ended.
func ended(ctx context.Context) error {
	if ctx == nil {
		return absent("context")
	}
	return context.Cause(ctx)
}

// leaseContext is a context that costs one object of 48 bytes until its end is
// waited for.
type leaseContext struct {
	parent context.Context //nolint:containedctx // it is a context itself
	pool   *Pool
	slot   uint32
	gen    uint32
	inner  atomic.Pointer[innerContext] // nil until it is needed or has ended
}

// innerContext is a context that can be ended.
type innerContext struct {
	ctx    context.Context //nolint:containedctx // it is a context itself
	cancel context.CancelCauseFunc
	cause  error // of one that is shared
}

// Contexts that have ended without having been waited for share one of these for
// each cause. They have no values of their own.
var (
	endedReleased  = endedBy(errReleasedTwice)
	endedPreempted = endedBy(errPreempted)
	endedTaken     = endedBy(refuse(ErrPreempted, "a claim in the cell takes the room"))
	endedLost      = endedBy(refuse(ErrPreempted, "the machine has left the cell"))
	endedClosed    = endedBy(ErrClosed)
)

func endedBy(cause error) *innerContext {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	return &innerContext{ctx, cancel, cause}
}

// use returns the inner context, which is made on first use.
func (c *leaseContext) use() *innerContext {
	if in := c.inner.Load(); in != nil {
		return in
	}
	in := &innerContext{}
	in.ctx, in.cancel = context.WithCancelCause(c.parent)
	if !c.inner.CompareAndSwap(nil, in) {
		in.cancel(nil)
	}
	return c.inner.Load()
}

// end ends the context with the cause of one that has ended.
func (c *leaseContext) end(as *innerContext) {
	if c.inner.Load() == nil && c.parent.Err() == nil && c.inner.CompareAndSwap(nil, as) {
		return
	}
	c.use().cancel(as.cause)
}

// Deadline returns the parent's deadline.
func (c *leaseContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done returns a channel that is closed when the context ends.
func (c *leaseContext) Done() <-chan struct{} { return c.use().ctx.Done() }

// Err returns nil until the context has ended.
func (c *leaseContext) Err() error {
	if in := c.inner.Load(); in != nil {
		return in.ctx.Err()
	}
	return c.parent.Err()
}

// Value returns the lease for heldKey, else the parent's value. Of the key that
// [context.Cause] looks up, that is the inner context.
func (c *leaseContext) Value(key any) any {
	if _, ok := key.(heldKey); ok {
		return c
	}
	if in := c.inner.Load(); in != nil {
		if v := in.ctx.Value(key); v != nil {
			return v
		}
	}
	return c.parent.Value(key)
}
