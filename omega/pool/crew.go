package pool

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
)

// crew are the goroutines that run tasks.
//
// Invariant, whenever the mutex is free: if a task is ready, a worker is
// looking for one. A worker that takes a task sees to that for those that are
// left, so a task that blocks holds up no other. A worker that ends a task takes
// the next one, which is why short tasks need few goroutines.
type crew struct {
	*core
	drop func(Lease, *record) // ends a lease

	onError  func(*Tenant, error)
	looking  int     // workers that have no task yet
	workers  int     // goroutines that run tasks
	failures []error // of tasks, the first few
	unnamed  int     // the number of further ones
}

// launch starts a worker if tasks are ready and none is looking. Called with mu
// held.
func (cr *crew) launch() {
	if cr.waits.ready.first != nil && cr.looking == 0 {
		cr.looking++
		cr.workers++
		go cr.work()
	}
	if cr.draining {
		cr.ended() // the last waiter may have given up
	}
}

// work runs tasks one by one, until none is ready.
func (cr *crew) work() {
	var w *waiter
	defer func() {
		if w != nil { // the task has ended this goroutine
			cr.mu.Lock()
			cr.end(w, errExited)
			cr.retire()
			cr.mu.Unlock()
		}
	}()
	cr.mu.Lock()
	cr.looking--
	for w = cr.waits.ready.take(); w != nil; w = cr.waits.ready.take() {
		cr.launch()
		err := w.err
		if err == nil {
			ctx, most := cr.leases.contextOf(w.task.ctx, w.lease.live(), w.lease), w.tenant.set.MaxRun
			cr.mu.Unlock()
			if err = w.run(ctx, most); err != nil && w.task.group != nil {
				w.task.group.fail(err) // before the room goes to another of its tasks
			}
			cr.mu.Lock()
		}
		cr.end(w, err)
		cr.waits.idle.put(w, cr.waits.waiting)
	}
	cr.retire()
	cr.mu.Unlock()
}

// retire notes that a worker ends. Called with mu held.
func (cr *crew) retire() {
	if cr.workers--; cr.draining {
		cr.ended()
	}
}

// end releases the lease of a task that has ended, and reports its error. Called
// with mu held, which it lets go for the report.
func (cr *crew) end(w *waiter, err error) {
	if w.err == nil {
		if r := w.lease.live(); r != nil { // nil: the function released it
			cr.drop(w.lease, r)
		}
	}
	if w.task.group == nil && err == nil {
		return
	}
	cr.launch() // this worker is not looking: the report may block
	cr.mu.Unlock()
	cr.report(w, err)
	cr.mu.Lock()
}

// report tells the error of a task.
func (cr *crew) report(w *waiter, err error) {
	if g := w.task.group; g != nil {
		g.done(err)
		return
	}
	if err == nil {
		return
	}
	if cr.onError != nil {
		cr.onError(w.tenant, err)
	}
	cr.mu.Lock()
	defer cr.mu.Unlock()
	if w.tenant.failed++; len(cr.failures) < maxFailures {
		cr.failures = append(cr.failures, fault.Newf("pool", err, "task of %q", w.tenant.name))
	} else {
		cr.unnamed++
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
