package poolasynq_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/servertest"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/pool/poolasynq"
	"github.com/cellsched/cellsched/resources"
)

// asking returns a middleware for a pool, and a channel that is closed at the nth time
// that a task without a retry left asks for a slot. No task waits in the pool.
func asking(t *testing.T, p *pool.Pool, n int64) (*poolasynq.Middleware, <-chan struct{}) {
	t.Helper()
	var asked atomic.Int64
	often := make(chan struct{})
	m, err := poolasynq.New(poolasynq.Config{
		Pool: p, Delay: time.Millisecond, Workers: 100,
		Ask: func(ctx context.Context, task *asynq.Task) (string, pool.Request, error) {
			retried, _ := asynq.GetRetryCount(ctx)
			if most, _ := asynq.GetMaxRetry(ctx); retried >= most && asked.Add(1) == n {
				close(often)
			}
			return task.Type(), pool.Request{Needs: []resources.Vector{{1}}, MaxWait: 1}, nil
		},
	})
	require.NoError(t, err)
	return m, often
}

// archives reports failures of tasks that have no retry left: Asynq archives such tasks.
func archives(tell func(error)) func(*asynq.Config) {
	return func(cfg *asynq.Config) {
		cfg.ErrorHandler = asynq.ErrorHandlerFunc(func(ctx context.Context, _ *asynq.Task, err error) {
			retried, _ := asynq.GetRetryCount(ctx)
			if most, _ := asynq.GetMaxRetry(ctx); retried >= most {
				tell(err)
			}
		})
	}
}

// Asynq archives a failed task that has no retry left, also where IsFailure returns false.
func TestMiddleware_RunsTasksThatHaveNoRetryLeft(t *testing.T) {
	const tasks = 10
	for retries := range 3 {
		t.Run(fmt.Sprint("after ", retries, " retries"), func(t *testing.T) {
			q := newQueue(t)
			m, refused := asking(t, servertest.Slots(t, 1, "a"), tasks+1)
			var succeeded atomic.Int64
			gone := make(chan struct{}, tasks)
			var ended sync.WaitGroup
			ended.Add(tasks)
			s := q.serve(m, func(ctx context.Context, _ *asynq.Task) error {
				if n, _ := asynq.GetRetryCount(ctx); n < retries {
					return errors.New("fails")
				}
				select { // while the one slot is taken, the others ask in vain
				case <-refused:
				case <-gone:
				}
				succeeded.Add(1)
				ended.Done()
				return nil
			}, archives(func(err error) {
				t.Errorf("archived: %v", err)
				gone <- struct{}{}
				ended.Done()
			}))
			q.enqueue("a", 0, tasks, asynq.MaxRetry(retries))
			ended.Wait()
			s.Shutdown()
			require.Equal(t, int64(tasks), succeeded.Load())
			info := q.info()
			require.Equal(t, [...]int{tasks, 0}, [...]int{info.Completed, info.Archived})
		})
	}
}

func TestMiddleware_RunsAPreemptedTaskThatHasNoRetryLeftAgain(t *testing.T) {
	q := newQueue(t)
	p := servertest.Slots(t, 1, "a")
	owner, err := p.Tenant("owner", pool.Settings{Guarantee: resources.Vector{1}})
	require.NoError(t, err)
	m, _ := asking(t, p, -1)
	ended := make(chan error, 1)
	var tries atomic.Int64
	s := q.serve(m, func(ctx context.Context, _ *asynq.Task) error {
		if tries.Add(1) > 1 {
			ended <- nil
			return nil
		}
		go func() {
			_ = owner.Do(t.Context(), resources.Vector{1}, func(context.Context, pool.Lease) error { return nil })
		}()
		<-ctx.Done()
		return context.Cause(ctx)
	}, archives(func(err error) { ended <- err }))
	q.enqueue("a", 0, 1, asynq.MaxRetry(0))
	require.NoError(t, <-ended)
	s.Shutdown()
	require.Equal(t, 1, q.info().Completed)
}

func TestMiddleware_ReturnsTheErrorOfATaskThatHasNoRetryLeft(t *testing.T) {
	q := newQueue(t)
	m, _ := asking(t, servertest.Slots(t, 1, "a"), -1)
	ended := make(chan error, 1)
	mine := errors.New("mine")
	s := q.serve(m, func(context.Context, *asynq.Task) error { return mine }, archives(func(err error) { ended <- err }))
	q.enqueue("a", 0, 1, asynq.MaxRetry(0))
	require.Equal(t, mine, <-ended)
	s.Shutdown()
	require.Equal(t, 1, q.info().Archived)
}

// A task that has no retry left keeps its worker, so its timeout may end it.
func TestMiddleware_EndsTheWaitOfATaskThatHasNoRetryLeftAtItsTimeout(t *testing.T) {
	q := newQueue(t)
	p := servertest.Slots(t, 1, "a")
	_, ok := p.TryAcquire("other", resources.Vector{1})
	require.True(t, ok)
	m, _ := asking(t, p, -1)
	ended := make(chan error, 1)
	s := q.serve(m, func(context.Context, *asynq.Task) error { return nil }, archives(func(err error) { ended <- err }))
	q.enqueue("a", 0, 1, asynq.MaxRetry(0), asynq.Timeout(time.Second))
	require.ErrorIs(t, <-ended, context.DeadlineExceeded)
	s.Shutdown()
	require.Equal(t, 1, q.info().Archived)
}

// A server that shuts down hands a task that still asks to the next one.
func TestMiddleware_HandsATaskThatHasNoRetryLeftToTheNextServer(t *testing.T) {
	q := newQueue(t)
	p := servertest.Slots(t, 1, "a")
	lease, ok := p.TryAcquire("other", resources.Vector{1})
	require.True(t, ok)
	m, refused := asking(t, p, 3)
	ended := make(chan error, 1)
	handle := func(context.Context, *asynq.Task) error {
		ended <- nil
		return nil
	}
	s := q.serve(m, handle, archives(func(err error) { ended <- err }), func(cfg *asynq.Config) { cfg.ShutdownTimeout = time.Millisecond })
	q.enqueue("a", 0, 1, asynq.MaxRetry(0))
	select {
	case <-refused:
	case err := <-ended:
		require.NoError(t, err, "archived")
	}
	s.Shutdown()
	info := q.info()
	require.Equal(t, [...]int{1, 0}, [...]int{info.Pending, info.Archived})
	require.NoError(t, lease.Release())
	s = q.serve(m, handle, archives(func(err error) { ended <- err }))
	require.NoError(t, <-ended)
	s.Shutdown()
}

// A task outside a server has no count of retries, so its error is returned.
func TestHandler_ReturnsWhereTheContextHasNoRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := servertest.Slots(t, 1, "a")
		_, ok := p.TryAcquire("other", resources.Vector{1})
		require.True(t, ok)
		m, _ := asking(t, p, -1)
		h := m.Handler(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { return nil }))
		err := h.ProcessTask(t.Context(), asynq.NewTask("a", nil))
		require.ErrorIs(t, err, pool.ErrWait)
		require.False(t, m.IsFailure(err))
	})
}

// A task that keeps its worker while it may not run counts as one that has a worker. No
// other task waits where no worker is left.
func TestMiddleware_CountsTheWorkersOfTasksThatHaveNoRetryLeft(t *testing.T) {
	q := newQueue(t)
	p := servertest.Slots(t, 1)
	_, ok := p.TryAcquire("other", resources.Vector{1})
	require.True(t, ok)
	var asked atomic.Int64
	m, err := poolasynq.New(poolasynq.Config{
		Pool: p, Delay: time.Hour, Workers: 3,
		Ask: func(_ context.Context, task *asynq.Task) (string, pool.Request, error) {
			if task.Type() == "a" {
				asked.Add(1)
			}
			return task.Type(), pool.Request{Needs: []resources.Vector{{1}}, MaxWait: 1}, nil
		},
	})
	require.NoError(t, err)
	nothing := asynq.HandlerFunc(func(context.Context, *asynq.Task) error { return nil })
	s := q.serve(m, nothing, func(cfg *asynq.Config) { cfg.ShutdownTimeout = time.Millisecond })
	q.enqueue("a", 0, 2, asynq.MaxRetry(0)) // two of three workers, for an hour
	require.Eventually(t, func() bool {
		err := m.Handler(nothing).ProcessTask(t.Context(), asynq.NewTask("b", nil))
		return errors.Is(err, pool.ErrQueueFull)
	}, time.Minute, time.Millisecond)
	s.Shutdown()
	require.Equal(t, 2, q.info().Pending)
	require.Equal(t, int64(2), asked.Load(), "a task asks again after its time")
}
