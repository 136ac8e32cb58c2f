// Package poolasynq runs the tasks of Asynq in the turns of a pool's tenants.
//
//	Asynq ──► Ask: tenant, need ──► pool.Do ──► the handler, with a lease
//	  ▲                                │
//	  └── retried later, not counted ──┘ the queue is full, or the wait too long
//
// # Tasks without a retry left
//
// Asynq archives a task that fails with no retry left, as each with MaxRetry(0), before it
// calls IsFailure. Such a task is not put off. Its handler waits and asks again:
//
//   - It keeps its worker meanwhile. Tasks of a tenant that floods should have a retry, else
//     they take all workers.
//   - [asynq.Timeout] ends its wait, 30 minutes by default, and Asynq archives it.
//   - [asynq.Server.Shutdown] ends its wait after the ShutdownTimeout, and the task is pending again.
//
// # Flooded queues
//
// Asynq hands out the tasks of a queue in their order, so those of a tenant that floods
// the queue come first. The middleware keeps some of them waiting in the pool and puts
// the others off. Then the tasks behind them have their turn. Three numbers matter:
//
//   - Concurrency of the server. It is no longer the number of tasks that run at a time,
//     which is the pool's. It counts the tasks that run, that wait in the pool, and that
//     come and are put off. It should exceed twice the tasks that the pool runs in a
//     second, since Asynq keeps the time of a task that was put off in whole seconds.
//     A server takes the tasks one after the other: the first task behind 1,000 others
//     waits for some 0.16 s until these were taken once, over a socket of Redis.
//   - [Config.Workers], the same number. It bounds the tasks of one tenant that wait, so
//     that workers are left for the others. [Middleware.Configure] sets both.
//     [pool.Settings.Queue] bounds them by a number for each tenant as well. A small one
//     leaves slots idle until the server looks for the tasks that were put off.
//   - [pool.Request.MaxWait], or [pool.Settings.MaxWait], the time for which a task waits
//     and occupies a worker. With one nanosecond a task waits not at all: it runs or is
//     put off. Asynq's timeout of a task runs meanwhile, so MaxWait should be well below it.
//     MaxWait should exceed the length of a task: a tenant whose tasks are put off before
//     a slot is free misses its turn.
//
// A server looks for tasks that were put off each [asynq.Config.DelayedTaskCheckInterval],
// which is 5 s by default. [Middleware.Configure] makes that 100 ms.
//
// Asynq calls [asynq.Config.ErrorHandler] for each task that is put off as well, thousands
// of times in a flood. That of a configuration before [Middleware.Configure] gets failures
// alone.
//
// # Several processes, and crashes
//
// A pool is that of one process by default. Slots, turns, limits and guarantees hold in
// each process by itself: three servers with four slots each run twelve tasks at a time.
// With [pool.Config.Replicas] the pools of all processes serve as one, on a journal in
// PostgreSQL or etcd. See "Replicas" in package pool.
//
// A process that is killed loses no task that has a retry left. Asynq takes the tasks
// that ran or waited in the pool for active ones, so each has spent a retry. Asynq
// archives a task without a retry left. With MaxRetry(0) these are up to Concurrency
// tasks, most of which have not begun.
package poolasynq

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"

	"github.com/cellsched/cellsched/omega/pool"
)

// DefaultDelay is the Delay of a zero [Config].
const DefaultDelay = 100 * time.Millisecond

// Config is the configuration of a [Middleware]. Pool, Ask and Workers are required.
type Config struct {
	// Pool admits the tasks.
	Pool *pool.Pool
	// Ask returns the tenant of a task and what it asks of the pool, such as from its
	// payload, its headers, or the name of its queue in ctx. An error is that of the task.
	Ask func(ctx context.Context, task *asynq.Task) (tenant string, ask pool.Request, err error)
	// Delay is the shortest time for which a task is put off. 0 means [DefaultDelay].
	Delay time.Duration
	// Workers is the Concurrency of the server. A task waits in the pool only where no
	// more of its tenant wait than workers are left: see [pool.Backlog]. A number above
	// the Concurrency lets a tenant that floods take all workers.
	Workers int
}

// Middleware runs each task with a lease of a pool. It is from [New]: the zero Middleware
// fails each task. It is safe for concurrent use.
//
//	m, err := poolasynq.New(poolasynq.Config{Pool: p, Ask: ask, Workers: 1000})
//	m.Configure(&cfg)
//	server := asynq.NewServer(redis, cfg)
//	mux.Use(m.Handler)
type Middleware struct {
	cfg     Config
	backlog pool.Backlog
}

// New returns a middleware. Errors: [pool.ErrConfig] for a Config without Pool, Ask or
// Workers, and for a negative Delay or number of Workers.
func New(cfg Config) (*Middleware, error) {
	if cfg.Pool == nil || cfg.Ask == nil {
		return nil, fmt.Errorf("poolasynq: Pool or Ask is nil, want both: %w", pool.ErrConfig)
	}
	if cfg.Delay < 0 {
		return nil, fmt.Errorf("poolasynq: Delay %v, want 0 or more: %w", cfg.Delay, pool.ErrConfig)
	}
	if cfg.Workers < 1 {
		return nil, fmt.Errorf("poolasynq: Workers %d, want the Concurrency of the server: %w", cfg.Workers, pool.ErrConfig)
	}
	if cfg.Delay == 0 {
		cfg.Delay = DefaultDelay
	}
	m := &Middleware{cfg: cfg}
	m.backlog.Least, m.backlog.Workers = cfg.Delay, cfg.Workers
	return m, nil
}

// Configure makes a configuration of a server one for the middleware:
//
//   - Concurrency is [Config.Workers].
//   - DelayedTaskCheckInterval is 100 ms where it was 0.
//   - IsFailure and RetryDelayFunc are those of the middleware for tasks that are put
//     off. For other errors they are what they were.
//   - ErrorHandler is called for other errors alone.
func (m *Middleware) Configure(cfg *asynq.Config) {
	if cfg == nil {
		return
	}
	failed, delay, handler := cfg.IsFailure, cfg.RetryDelayFunc, cfg.ErrorHandler
	cfg.IsFailure = m.IsFailure
	if failed != nil {
		cfg.IsFailure = func(err error) bool { return m.IsFailure(err) && failed(err) }
	}
	cfg.RetryDelayFunc = m.RetryDelay
	if delay != nil {
		cfg.RetryDelayFunc = func(n int, err error, task *asynq.Task) time.Duration {
			if m.IsFailure(err) {
				return delay(n, err, task)
			}
			return m.RetryDelay(n, err, task)
		}
	}
	if handler != nil {
		cfg.ErrorHandler = asynq.ErrorHandlerFunc(func(ctx context.Context, task *asynq.Task, err error) {
			if m.IsFailure(err) {
				handler.HandleError(ctx, task, err)
			}
		})
	}
	if m != nil {
		cfg.Concurrency = m.cfg.Workers
	}
	if cfg.DelayedTaskCheckInterval == 0 {
		cfg.DelayedTaskCheckInterval = 100 * time.Millisecond
	}
}

// Handler waits for the turn of the task's tenant, and calls the next handler with a
// lease, which is found by [pool.Leases]. The context ends when the lease is preempted.
// It is an [asynq.MiddlewareFunc].
//
// A task is put off where
//
//   - too many tasks of the tenant wait, or the wait was too long,
//   - the handler fails after the lease was preempted, but for [asynq.SkipRetry] and
//     [asynq.RevokeTask], which it returns as they are,
//   - the pool is closed.
//
// One that has no retry left waits as long inside the call, and asks again, until ctx ends.
//
// The tasks of a tenant come back one after the other, about twice as fast as the tenant
// is served: see [pool.Backlog]. Other errors are those of the task: that of Ask, of the
// handler, and [pool.ErrNeed] of a need that no machine could meet.
func (m *Middleware) Handler(next asynq.Handler) asynq.Handler {
	return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		if m == nil || m.cfg.Pool == nil {
			return fmt.Errorf("poolasynq: the Middleware is not from New: %w", pool.ErrConfig)
		}
		for {
			tenant, ask, err := m.cfg.Ask(ctx, task)
			if err != nil {
				return err
			}
			var own error // of the handler
			last := lastTry(ctx)
			again, err := m.backlog.Do(ctx, m.cfg.Pool, tenant, ask, last, func(ctx context.Context, _ []pool.Lease) error {
				own = next.ProcessTask(ctx, task)
				return own
			})
			switch {
			case again <= 0:
				return err
			case errors.Is(own, asynq.SkipRetry) || errors.Is(own, asynq.RevokeTask):
				return own
			case !last:
				return &laterError{again, err}
			}
			// Asynq would archive the task for any error.
		}
	})
}

// lastTry reports whether the task of ctx has no retry left. Outside a server there are
// no retries, and it is false.
func lastTry(ctx context.Context) bool {
	retried, ok := asynq.GetRetryCount(ctx)
	most, _ := asynq.GetMaxRetry(ctx)
	return ok && retried >= most
}

// IsFailure returns false for a task that was put off, so that Asynq counts no retry and
// no failure. Asynq calls it where the task has a retry left only. It is for
// [asynq.Config]; a function of the program's own calls it first.
func (*Middleware) IsFailure(err error) bool {
	var later *laterError
	return err != nil && !errors.As(err, &later)
}

// RetryDelay returns the time for which a task is put off, and for other errors that of
// [asynq.DefaultRetryDelayFunc]. It is an [asynq.RetryDelayFunc]; a function of the
// program's own calls it where IsFailure returns false.
func (*Middleware) RetryDelay(n int, err error, task *asynq.Task) time.Duration {
	var later *laterError
	if errors.As(err, &later) {
		return later.after
	}
	return asynq.DefaultRetryDelayFunc(n, err, task)
}

// laterError is the error of a task that comes again.
type laterError struct {
	after time.Duration
	err   error
}

func (e *laterError) Error() string {
	return fmt.Sprintf("poolasynq: again after %v: %v", e.after, e.err)
}
func (e *laterError) Unwrap() error { return e.err }
