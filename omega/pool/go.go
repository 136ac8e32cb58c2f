package pool

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Go queues fn, to run in a goroutine of the pool when it is the tenant's turn and a
// machine has room, and returns at once. The lease is released when fn returns. The
// context of fn ends with ctx, and as [Lease.Context] says.
//
// A task that waits has no goroutine and takes 216 bytes. A goroutine that ends a task
// takes the next one itself. A task with a ctx that ends before its turn is dropped when
// its turn comes, or with its [Group]. A task beyond its maximum wait is dropped at once.
// Its error, the error of fn and a panic as [PanicError] go to Config.OnError, and to
// [Pool.Shutdown]. The error of fn is [ErrPreempted] as well where fn fails after the
// lease was preempted.
//
// Errors: as [Tenant.Acquire], of those that are known at once.
func (t *Tenant) Go(ctx context.Context, need resources.Vector, fn func(context.Context, Lease) error) error {
	if t.none() {
		return absent("tenant")
	}
	return t.submit(&need, task{ctx, fn, nil})
}

// noFunc refuses a task without a function.
func noFunc(tenant string) error {
	return refuse(ErrConfig, fmt.Sprintf("task of %q: nil func, want work", tenant))
}

func (t *Tenant) submit(need *resources.Vector, job task) error {
	if job.fn == nil {
		return noFunc(t.name)
	}
	if job.ctx == nil || job.ctx.Err() != nil {
		return ended(job.ctx)
	}
	p := t.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if job.group != nil && job.group.dropped {
		return context.Cause(job.ctx) // it has ended since
	}
	if node := p.roomNow(t, need); node >= 0 {
		w := p.idle.take()
		w.tenant, w.task, w.lease = t, job, p.grant(t, need, node, locality.NodeLocal)
		if t.bounded {
			t.spend()
		}
		p.ready.add(w)
	} else {
		own, err := p.admissible(job.ctx, t, need)
		if err != nil {
			return err
		}
		w := p.idle.take()
		w.tenant, w.need, w.since, w.task = t, *need, p.at, job
		if own != nil {
			w.extra = &extra{own: own}
		}
		if p.enqueue(w); w.queued && t.set.MaxWait > 0 && !t.expiring {
			t.expireIn(t.set.MaxWait)
		}
	}
	if job.group != nil {
		job.group.running.Add(1)
	}
	p.launch()
	return nil
}

// expireIn has tasks dropped that have waited for their maximum by then. Called with mu
// held.
func (t *Tenant) expireIn(d time.Duration) {
	if t.expiring = true; t.expiry == nil {
		t.expiry = time.AfterFunc(d, t.expire)
	} else {
		t.expiry.Reset(d)
	}
}

// expire drops the tasks that have waited for their maximum. They are in the order in
// which they came, so the first that may go on is the next to be looked at.
func (t *Tenant) expire() {
	p := t.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick()
	t.expiring = false
	for w := t.first; w != nil && t.set.MaxWait > 0; {
		next := w.next
		if w.task.fn != nil {
			if w.err = w.expired(); w.err == nil {
				t.expireIn(w.since + t.set.MaxWait - p.at)
				break
			}
			t.gaveUp(w.err)
			p.serve(w)
		}
		w = next
	}
	p.next()
}

// expired returns why a task that waits is to be dropped, or nil. Called with mu
// held, after a tick.
func (w *waiter) expired() error {
	if w.task.fn == nil {
		return nil
	}
	if w.task.ctx.Err() != nil {
		return context.Cause(w.task.ctx)
	}
	if most := w.most(); most > 0 && w.tenant.pool.at-w.since >= most {
		return w.tenant.pool.failed(w, w.behind(), ErrWait)
	}
	return nil
}

// taskList is a queue of tasks that were granted or dropped.
type taskList struct{ first, last *waiter }

func (l *taskList) add(w *waiter) {
	if l.first == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
}

func (l *taskList) take() *waiter {
	w := l.first
	if w != nil {
		l.first, w.next = w.next, nil
	}
	return w
}

// Workers. Invariant, whenever the mutex is free: if a task is ready, a worker is
// looking for one. A worker that takes a task sees to that for those that are
// left, so a task that blocks holds up no other. A worker that ends a task takes
// the next one, which is why short tasks need few goroutines.

// launch starts a worker if tasks are ready and none is looking. Called with mu
// held.
func (p *Pool) launch() {
	if p.ready.first != nil && p.looking == 0 {
		p.looking++
		p.workers++
		go p.work()
	}
	if p.draining {
		p.ended() // the last waiter may have given up
	}
}

// work runs tasks one by one, until none is ready.
func (p *Pool) work() {
	var w *waiter
	defer func() {
		if w != nil { // the task has ended this goroutine
			p.mu.Lock()
			p.end(w, errExited)
			p.retire()
			p.mu.Unlock()
		}
	}()
	p.mu.Lock()
	p.looking--
	for w = p.ready.take(); w != nil; w = p.ready.take() {
		p.launch()
		err := w.err
		if err == nil {
			ctx, most := p.contextOf(w.task.ctx, w.lease.live(), w.lease), w.tenant.set.MaxRun
			p.mu.Unlock()
			if err = w.run(ctx, most); err != nil && w.task.group != nil {
				w.task.group.fail(err) // before the room goes to another of its tasks
			}
			p.mu.Lock()
		}
		p.end(w, err)
		p.idle.put(w, p.waiting)
	}
	p.retire()
	p.mu.Unlock()
}

// retire notes that a worker ends. Called with mu held.
func (p *Pool) retire() {
	if p.workers--; p.draining {
		p.ended()
	}
}

var errExited = errors.New("pool: task has ended its goroutine with runtime.Goexit")

// run calls the task's function, for so long at most, and returns its error, or
// its panic as one.
func (w *waiter) run(ctx context.Context, most time.Duration) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return w.tenant.call(ctx, most, func(ctx context.Context) error { return w.task.fn(ctx, w.lease) })
}

// call calls fn, with a context that ends after a time, 0 for none. An error of fn is
// also that of the context where a lease was preempted. So it is where the time is over
// and fn fails with the bare error of its context.
func (t *Tenant) call(ctx context.Context, most time.Duration, fn func(context.Context) error) error {
	if most > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, most, refuse(ErrRun, fmt.Sprintf("task of %q ran for %v", t.name, most)))
		defer stop()
	}
	err := fn(ctx)
	if err == nil {
		return nil
	}
	switch over := context.Cause(ctx); {
	case errors.Is(over, ErrPreempted) && !errors.Is(err, ErrPreempted):
		return because(ErrPreempted, fmt.Sprintf("task of %q", t.name), err)
	case errors.Is(over, ErrRun) && errors.Is(err, context.DeadlineExceeded):
		return fault.Text(over.Error(), over, err)
	}
	return err
}

// end releases the lease of a task that has ended, and reports its error. Called
// with mu held, which it lets go for the report.
func (p *Pool) end(w *waiter, err error) {
	if w.err == nil {
		if r := w.lease.live(); r != nil { // else the function released it
			p.drop(w.lease, r)
		}
	}
	if w.task.group == nil && err == nil {
		return
	}
	p.launch() // this worker is not looking: the report may block
	p.mu.Unlock()
	p.report(w, err)
	p.mu.Lock()
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
		p.failures = append(p.failures, fault.Newf("pool", err, "task of %q", w.tenant.name))
	} else {
		p.unnamed++
	}
}

// maxFailures is how many errors of tasks Shutdown names.
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
