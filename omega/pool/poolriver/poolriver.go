// Package poolriver runs the jobs of River in the turns of a pool's tenants.
//
//	River ──► Ask: tenant, need ──► pool.Do ──► the worker, with a lease
//	  ▲                                │
//	  └── snoozed: no attempt is spent ┘ the queue is full, or the wait too long
//
// River hands out jobs in the order of their priority and time, so the jobs of a tenant
// that floods the queue come first. The middleware keeps some of them waiting in the
// pool and puts the others off. Then the jobs behind them have their turn. Three numbers
// matter:
//
//   - MaxWorkers of the River queue. It is no longer the number of jobs that run at a
//     time, which is the pool's. It counts the jobs that run, that wait in the pool, and
//     that come and are put off. River takes as many at a time, and looks each
//     FetchCooldown at most. 1,000 suit a pool of a few slots: a burst then waits for
//     0.1 s behind each 1,000 jobs that were queued before it.
//   - [Config.Workers], the same number. It bounds the jobs of one tenant that wait, so
//     that workers are left for the others. [Middleware.Configure] sets both.
//     [pool.Settings.Queue] bounds them by a number for each tenant as well. A small one
//     leaves slots idle, since River looks for the jobs that were put off only each
//     FetchPollInterval, 1 s by default.
//   - [pool.Request.MaxWait], or [pool.Settings.MaxWait], the time for which a job waits
//     and occupies a worker. With one nanosecond a job waits not at all: it runs or is
//     put off. River's RescueStuckJobsAfter counts the wait, so MaxWait should be well
//     below it. JobTimeout begins after the wait. MaxWait should exceed the length of a
//     job: a tenant whose jobs are put off before a slot is free misses its turn.
//
// # Several processes, and crashes
//
// A pool is that of one process by default. Slots, turns, limits and guarantees hold in
// each process by itself: three worker processes with four slots each run twelve jobs at a
// time. With [pool.Config.Replicas] the pools of all processes serve as one, on a journal
// in PostgreSQL, such as the database of River. See "Replicas" in package pool.
//
// A process that is killed loses no job that has an attempt left. River takes the jobs
// that ran or waited in the pool for running ones, so each has spent an attempt. River
// discards a job on its last attempt. With MaxAttempts 1 these are up to MaxWorkers jobs,
// most of which have not begun.
//
// A process that stops by StopAndCancel loses none: jobs that wait in the pool are
// available again, and have spent no attempt.
package poolriver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/cellsched/cellsched/omega/pool"
)

// DefaultSnooze is the Snooze of a zero [Config].
const DefaultSnooze = 100 * time.Millisecond

// Config is the configuration of a [Middleware]. Pool, Ask and Workers are required.
type Config struct {
	// Pool admits the jobs.
	Pool *pool.Pool
	// Ask returns the tenant of a job and what it asks of the pool, such as from its
	// Metadata, Tags or Queue. An error is that of the job. A [pool.Request] of a higher
	// Priority comes first, and River's 1 is the highest: 5 - job.Priority keeps its order.
	Ask func(*rivertype.JobRow) (tenant string, ask pool.Request, err error)
	// Snooze is the shortest time for which a job is put off. 0 means [DefaultSnooze].
	// River looks for jobs each FetchPollInterval, 1 s by default, so many come back later.
	Snooze time.Duration
	// Workers is the MaxWorkers of the River queue, of several queues the smallest; each
	// queue is counted by itself. A job waits in the pool only where no more of its tenant
	// wait than workers are left: see [pool.Backlog]. A number above MaxWorkers lets a
	// tenant that floods take all workers.
	Workers int
}

// Middleware is a River middleware that runs each job with a lease of a pool. It is from
// [New]: the zero Middleware fails each job. It is safe for concurrent use.
//
//	middleware, err := poolriver.New(poolriver.Config{Pool: p, Ask: ask, Workers: 1000})
//	middleware.Configure(cfg)
//	client, err := river.NewClient(driver, cfg)
type Middleware struct {
	river.MiddlewareDefaults
	cfg      Config
	backlogs sync.Map // of *pool.Backlog by River queue, as each has workers of its own
}

var _ rivertype.WorkerMiddleware = (*Middleware)(nil)

// New returns a middleware. Errors: [pool.ErrConfig] for a Config without Pool, Ask or
// Workers, and for a negative Snooze or number of Workers.
func New(cfg Config) (*Middleware, error) {
	if cfg.Pool == nil || cfg.Ask == nil {
		return nil, fmt.Errorf("poolriver: Pool or Ask is nil, want both: %w", pool.ErrConfig)
	}
	if cfg.Snooze < 0 {
		return nil, fmt.Errorf("poolriver: Snooze %v, want 0 or more: %w", cfg.Snooze, pool.ErrConfig)
	}
	if cfg.Workers < 1 {
		return nil, fmt.Errorf("poolriver: Workers %d, want the MaxWorkers of the queue: %w", cfg.Workers, pool.ErrConfig)
	}
	if cfg.Snooze == 0 {
		cfg.Snooze = DefaultSnooze
	}
	return &Middleware{cfg: cfg}, nil
}

// Configure adds the middleware to a configuration of River, behind those that it has. It
// sets the MaxWorkers of each queue there to [Config.Workers].
func (m *Middleware) Configure(cfg *river.Config) {
	if m == nil {
		m = &Middleware{} // fails each job
	}
	if cfg == nil {
		return
	}
	cfg.Middleware = append(slices.Clip(cfg.Middleware), m)
	queues := maps.Clone(cfg.Queues) // the caller may share it
	for name, q := range queues {
		q.MaxWorkers = m.cfg.Workers
		queues[name] = q
	}
	cfg.Queues = queues
}

// backlog returns the backlog of a River queue.
func (m *Middleware) backlog(queue string) *pool.Backlog {
	b, ok := m.backlogs.Load(queue)
	if !ok {
		b, _ = m.backlogs.LoadOrStore(queue, &pool.Backlog{Least: m.cfg.Snooze, Workers: m.cfg.Workers})
	}
	return b.(*pool.Backlog) //nolint:forcetypeassert // nothing else is stored
}

// Work waits for the turn of the job's tenant, and calls the worker with a lease. The
// worker finds the lease by [pool.Leases]. The context of the worker ends when the lease
// is preempted.
//
// A job is put off by [river.JobSnooze], which spends no attempt, where
//
//   - too many jobs of the tenant wait, or the wait was too long,
//   - the worker fails after the lease was preempted, but for [river.JobCancel] and
//     [river.JobSnooze], which it returns as they are,
//   - the pool is closed.
//
// It is put off for Snooze at least. The jobs of a tenant come back one after the other,
// about twice as fast as the tenant is served: see [pool.Backlog]. Other errors are those
// of the job: that of Ask, of the worker, and [pool.ErrNeed] of a need that no machine
// could meet.
func (m *Middleware) Work(ctx context.Context, job *rivertype.JobRow, doInner func(context.Context) error) error {
	if m == nil || m.cfg.Pool == nil {
		return fmt.Errorf("poolriver: the Middleware is not from New: %w", pool.ErrConfig)
	}
	tenant, ask, err := m.cfg.Ask(job)
	if err != nil {
		return err
	}
	var own error // of the worker
	again, err := m.backlog(job.Queue).Do(ctx, m.cfg.Pool, tenant, ask, false, func(ctx context.Context, _ []pool.Lease) error {
		own = doInner(ctx)
		return own
	})
	switch {
	case again <= 0:
		return err
	case isLastWord(own):
		return own
	}
	return river.JobSnooze(again)
}

// isLastWord reports whether a worker says by its error what becomes of the job.
func isLastWord(err error) bool {
	var (
		cancel *river.JobCancelError
		snooze *river.JobSnoozeError
	)
	return errors.As(err, &cancel) || errors.As(err, &snooze)
}
