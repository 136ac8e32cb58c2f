package pool

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/cellsched/cellsched/resources"
)

// task is work that waits in the queue of its tenant.
type task struct {
	ctx   context.Context //nolint:containedctx // of the task, as long as it waits
	fn    func(context.Context, Lease) error
	group *Group // whose Wait gets the error; nil: the pool's Shutdown
}

// Go queues fn, to run in a goroutine of the pool when it is the tenant's turn and
// a machine has room, and returns at once. The lease is released when fn returns.
// The context of fn ends with ctx, and as [Lease.Context] says.
//
// A task that waits has no goroutine and takes 256 bytes. A goroutine that ends a
// task takes the next one itself. A task whose ctx ends, or whose maximum wait is
// over, before its turn is dropped. Its error, the error of fn and a panic as
// [PanicError] go to Config.OnError, and to [Pool.Shutdown].
//
// Errors: as [Tenant.Acquire], of those that are known at once.
func (t *Tenant) Go(ctx context.Context, need resources.Vector, fn func(context.Context, Lease) error) error {
	return t.submit(ctx, need, fn, nil)
}

func (t *Tenant) submit(ctx context.Context, need resources.Vector, fn func(context.Context, Lease) error, g *Group) error {
	if fn == nil {
		return refuse(ErrConfig, fmt.Sprintf("task of %q: nil func, want work", t.name))
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p := t.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	w, err := p.admitTask(ctx, t, &need)
	if err != nil {
		return err
	}
	w.task = &task{ctx, fn, g}
	if g != nil {
		g.running.Add(1)
	}
	p.enqueue(w)
	p.launch()
	return nil
}

// admitTask makes a waiter without a channel. Called with mu held.
func (p *Pool) admitTask(ctx context.Context, t *Tenant, need *resources.Vector) (*waiter, error) {
	if err := p.admissible(ctx, t, need); err != nil {
		return nil, err
	}
	return &waiter{tenant: t, need: *need, since: p.at}, nil
}

// expired returns why a task that waits is to be dropped, or nil. Called with mu
// held, after a tick.
func (w *waiter) expired() error {
	if w.task == nil {
		return nil
	}
	if w.task.ctx.Err() != nil {
		return context.Cause(w.task.ctx)
	}
	if most := w.most(); most > 0 && w.tenant.pool.at-w.since >= most {
		return refuse(ErrWait, fmt.Sprintf("task of %q waited for %v", w.tenant.name, most))
	}
	return nil
}

// launch starts a goroutine for each task that was granted or dropped. Called
// with mu held.
func (p *Pool) launch() {
	for i, w := range p.ready {
		p.ready[i] = nil
		p.workers.Add(1)
		go p.work(w)
	}
	p.ready = p.ready[:0]
}

// work runs a task, and then those that its end makes room for, one by one.
func (p *Pool) work(w *waiter) {
	defer p.workers.Done()
	for w != nil {
		err := w.err
		if err == nil {
			err = w.run()
		}
		p.report(w, err)
		w = p.next(w)
	}
}

// run calls the task's function and returns its error, or its panic as one.
func (w *waiter) run() (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	p, l := w.tenant.pool, w.lease
	p.mu.Lock()
	ctx := p.contextOf(w.task.ctx, l.live(), l)
	p.mu.Unlock()
	return w.task.fn(ctx, l)
}

// next releases the lease of a task and returns the task that this worker takes
// over, if its end makes room for one.
func (p *Pool) next(w *waiter) *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.err == nil {
		if r := w.lease.live(); r != nil { // else the function released it
			p.drop(w.lease, r)
		}
	}
	var mine *waiter
	if n := len(p.ready); n > 0 {
		mine, p.ready[n-1] = p.ready[n-1], nil
		p.ready = p.ready[:n-1]
	}
	p.launch()
	return mine
}

// report tells the error of a task.
func (p *Pool) report(w *waiter, err error) {
	if g := w.task.group; g != nil {
		g.done(err)
		return
	}
	if err == nil {
		return
	}
	if p.onError != nil {
		p.onError(w.tenant, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.tenant.failed++; len(p.failures) < maxFailures {
		p.failures = append(p.failures, fmt.Errorf("pool: task of %q: %w", w.tenant.name, err))
	}
}

// maxFailures is how many errors of tasks Shutdown returns.
const maxFailures = 16

// PanicError is the panic of a task, as an error.
type PanicError struct {
	Value any
	Stack []byte // of the goroutine, as [debug.Stack] prints it
}

// Error returns the value and the stack.
func (e *PanicError) Error() string {
	return fmt.Sprintf("pool: task panicked: %v\n%s", e.Value, e.Stack)
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Group is a set of tasks of one tenant that are waited for together, as of
// errgroup. Make one with [Tenant.Group].
type Group struct {
	tenant  *Tenant
	ctx     context.Context //nolint:containedctx // as in errgroup
	cancel  context.CancelCauseFunc
	running sync.WaitGroup
	once    sync.Once
	err     error
	panic   *PanicError
}

// Group returns a group of tasks and its context, which ends with the first error
// of a task, and when Wait returns.
func (t *Tenant) Group(ctx context.Context) (*Group, context.Context) {
	g := &Group{tenant: t}
	g.ctx, g.cancel = context.WithCancelCause(ctx)
	return g, g.ctx
}

// Go queues a task as [Tenant.Go] does. A task that is refused counts as failed:
// its error is the group's, too.
func (g *Group) Go(need resources.Vector, fn func(context.Context, Lease) error) error {
	err := g.tenant.submit(g.ctx, need, fn, g)
	if err != nil {
		g.fail(err)
	}
	return err
}

// Wait blocks until all tasks of the group have ended, and returns the first
// error. If a task panicked, Wait panics with its [PanicError].
func (g *Group) Wait() error {
	g.running.Wait()
	g.cancel(nil)
	if g.panic != nil {
		panic(g.panic)
	}
	return g.err
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
