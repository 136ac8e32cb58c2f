package pool

import (
	"context"
	"errors"
	"sync"

	"github.com/cellsched/cellsched/resources"
)

// Group is a set of tasks of one tenant that are waited for together, as of
// errgroup. Make one with [Tenant.Group]. It is no group of tenants: those are made by
// [Tenant.Tenant].
type Group struct {
	tenant  *Tenant
	ctx     context.Context //nolint:containedctx // as in errgroup
	cancel  context.CancelCauseFunc
	running sync.WaitGroup
	stop    func() bool // stops the function that drops tasks when ctx ends
	once    sync.Once
	err     error
	refused error // of a group without a context, which takes no task
	panic   *PanicError

	// The pool's mutex guards the fields below.
	waiting []*waiter // its tasks in the queue
	dropped bool      // its context has ended, and no task is queued any more
}

// Group returns a group of tasks and its context, which ends with the first error
// of a task, and when Wait returns. With a nil context the group takes no task, its
// methods fail with [resources.ErrNil], and its context has ended.
func (t *Tenant) Group(ctx context.Context) (*Group, context.Context) {
	if t.none() {
		return nil, ctx
	}
	g := &Group{tenant: t}
	if ctx == nil {
		g.refused = absent("context")
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(g.refused)
		return g, ctx
	}
	g.ctx, g.cancel = context.WithCancelCause(ctx)
	g.stop = context.AfterFunc(g.ctx, g.drop)
	return g, g.ctx
}

// drop takes the group's tasks that wait out of the queue. Cost: O(tasks).
func (g *Group) drop() {
	t, p := g.tenant, g.tenant.pool
	cause := context.Cause(g.ctx)
	for left := true; left; {
		n := 0
		p.mu.Lock()
		p.tick()
		g.dropped = true
		for ; n < dropAtATime && len(g.waiting) > 0; n++ {
			w := g.waiting[len(g.waiting)-1]
			t.cancelled++
			if p.events.Active() {
				p.tellRefused(t, &w.need, w.label(), cause)
			}
			p.leave(w)
			p.waits.idle.put(w, p.waits.waiting)
		}
		left = len(g.waiting) > 0
		p.next() // requests behind them may be next
		p.mu.Unlock()
		for range n {
			g.done(cause)
		}
	}
}

func (g *Group) done(err error) {
	if err != nil {
		g.fail(err)
	}
	g.running.Done()
}

func (g *Group) fail(err error) {
	g.once.Do(func() {
		g.err = err
		errors.As(err, &g.panic)
		g.cancel(err)
	})
}

// dropAtATime is how many tasks are dropped before others may go on.
const dropAtATime = 64

// Go queues a task as [Tenant.Go] does, but for its errors: they go to Wait, and to
// no other place. A task that is refused counts as failed: its error is the group's,
// too.
func (g *Group) Go(need resources.Vector, fn func(context.Context, Lease) error) error {
	if g == nil || g.tenant == nil {
		return absent("group")
	}
	if g.refused != nil {
		return g.refused
	}
	err := g.tenant.submit(&need, task{g.ctx, fn, g})
	if err != nil {
		g.fail(err)
	}
	return err
}

// Wait blocks until all tasks of the group have ended, and returns the first
// error. If a task panicked, Wait panics with its [PanicError].
func (g *Group) Wait() error {
	if g == nil || g.tenant == nil {
		return absent("group")
	}
	if g.refused != nil {
		return g.refused
	}
	g.running.Wait()
	g.stop()
	g.cancel(nil)
	if g.panic != nil {
		panic(g.panic)
	}
	return g.err
}
