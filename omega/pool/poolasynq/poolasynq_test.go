package poolasynq_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
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

// tenantOf asks for a slot for the tenant that the type of the task names.
func tenantOf(_ context.Context, task *asynq.Task) (string, pool.Request, error) {
	if task.Type() == "unknown" {
		return "", pool.Request{}, errors.New("no such tenant")
	}
	return task.Type(), pool.Request{Needs: []resources.Vector{{1}}, MaxWait: time.Second}, nil
}

func middleware(tb testing.TB, p *pool.Pool, delay time.Duration) *poolasynq.Middleware {
	tb.Helper()
	m, err := poolasynq.New(poolasynq.Config{Pool: p, Ask: tenantOf, Delay: delay, Workers: 100})
	require.NoError(tb, err)
	return m
}

// silent is a logger of Asynq.
type silent struct{}

func (silent) Debug(...any) {}
func (silent) Info(...any)  {}
func (silent) Warn(...any)  {}
func (silent) Error(...any) {}
func (silent) Fatal(...any) {}

// queue is Asynq on a Redis of its own.
type queue struct {
	tb     testing.TB
	redis  asynq.RedisClientOpt
	client *asynq.Client
}

func newQueue(tb testing.TB) *queue {
	tb.Helper()
	q := &queue{tb: tb, redis: asynq.RedisClientOpt{Network: "unix", Addr: servertest.Redis(tb)}}
	q.client = asynq.NewClient(q.redis)
	tb.Cleanup(func() { _ = q.client.Close() })
	return q
}

// serve starts a server that handles tasks by a function.
func (q *queue) serve(m *poolasynq.Middleware, handle asynq.HandlerFunc, change ...func(*asynq.Config)) *asynq.Server {
	q.tb.Helper()
	cfg := asynq.Config{
		Concurrency: 100, Logger: silent{}, LogLevel: asynq.FatalLevel,
		IsFailure: m.IsFailure, RetryDelayFunc: func(n int, err error, task *asynq.Task) time.Duration {
			if m.IsFailure(err) {
				return 0 // the process has ended
			}
			return m.RetryDelay(n, err, task)
		},
		DelayedTaskCheckInterval: 20 * time.Millisecond, TaskCheckInterval: 20 * time.Millisecond,
	}
	for _, f := range change {
		f(&cfg)
	}
	s := asynq.NewServer(q.redis, cfg)
	require.NoError(q.tb, s.Start(m.Handler(handle)))
	return s
}

// info returns how many tasks the queue has in each state.
func (q *queue) info() *asynq.QueueInfo {
	q.tb.Helper()
	inspector := asynq.NewInspector(q.redis)
	defer func() { require.NoError(q.tb, inspector.Close()) }()
	info, err := inspector.GetQueueInfo("default")
	require.NoError(q.tb, err)
	return info
}

// enqueue adds n tasks of a tenant.
func (q *queue) enqueue(tenant string, first, n int, options ...asynq.Option) {
	q.tb.Helper()
	options = append([]asynq.Option{asynq.MaxRetry(3), asynq.Retention(time.Hour)}, options...)
	for i := range n {
		_, err := q.client.Enqueue(asynq.NewTask(tenant, []byte(strconv.Itoa(first+i))), options...)
		require.NoError(q.tb, err)
	}
}

func number(task *asynq.Task) int {
	n, _ := strconv.Atoi(string(task.Payload()))
	return n
}

// Tasks are put off again and again, and run in the end: each once, without a retry that
// counts, no more at a time than there are slots.
func TestMiddleware_RunsEachTaskOfAFlood(t *testing.T) {
	q := newQueue(t)
	p := servertest.Slots(t, 2, "flood", "other")
	const flood, other = 300, 20
	var mu sync.Mutex
	ran := map[int]int{}
	var running, most atomic.Int64
	all, first := make(chan struct{}), make(chan struct{})
	var putOff atomic.Int64
	m := middleware(t, p, 10*time.Millisecond)
	s := q.serve(m, func(ctx context.Context, task *asynq.Task) error {
		<-first // the slots are taken until a task was put off
		now := running.Add(1)
		for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
		}
		defer running.Add(-1)
		retries, _ := asynq.GetRetryCount(ctx)
		mu.Lock()
		defer mu.Unlock()
		if retries != 0 || len(slices.Collect(pool.Leases(ctx))) != 1 {
			t.Errorf("%d retries, leases %v", retries, slices.Collect(pool.Leases(ctx)))
		}
		if ran[number(task)]++; len(ran) == flood+other {
			close(all)
		}
		return nil
	}, func(cfg *asynq.Config) {
		cfg.RetryDelayFunc = func(n int, err error, task *asynq.Task) time.Duration {
			if !m.IsFailure(err) && putOff.Add(1) == 1 {
				close(first)
			}
			return m.RetryDelay(n, err, task)
		}
		cfg.ErrorHandler = asynq.ErrorHandlerFunc(func(_ context.Context, _ *asynq.Task, err error) {
			if m.IsFailure(err) {
				t.Errorf("a failure: %v", err)
			}
		})
	})
	q.enqueue("flood", 0, flood)
	q.enqueue("other", flood, other)
	<-all
	s.Shutdown()
	require.Positive(t, putOff.Load())
	require.LessOrEqual(t, most.Load(), int64(2))
	for n, times := range ran {
		require.Equal(t, 1, times, "task %d", n)
	}
}

func TestHandler_PutsOffWhatMayRunLater(t *testing.T) {
	mine := errors.New("mine")
	process := func(t *testing.T, m *poolasynq.Middleware, tenant string, handle asynq.HandlerFunc) error {
		t.Helper()
		return m.Handler(handle).ProcessTask(t.Context(), asynq.NewTask(tenant, nil))
	}
	succeed := func(context.Context, *asynq.Task) error { return nil }
	t.Run("admitted", func(t *testing.T) {
		m := middleware(t, servertest.Slots(t, 1), 0)
		require.NoError(t, process(t, m, "a", succeed))
		err := process(t, m, "a", func(context.Context, *asynq.Task) error { return mine })
		require.Equal(t, mine, err)
		require.True(t, m.IsFailure(err))
		require.False(t, m.IsFailure(nil))
		require.Positive(t, m.RetryDelay(1, err, asynq.NewTask("a", nil)))
	})
	t.Run("waited too long", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := servertest.Slots(t, 1)
			_, ok := p.TryAcquire("b", resources.Vector{1})
			require.True(t, ok)
			m := middleware(t, p, time.Minute)
			err := process(t, m, "a", succeed)
			require.ErrorIs(t, err, pool.ErrWait)
			require.ErrorContains(t, err, "poolasynq: again after 1m0s: pool: ")
			require.False(t, m.IsFailure(fmt.Errorf("wrapped: %w", err)))
			require.Equal(t, time.Minute, m.RetryDelay(1, err, nil))
		})
	})
	t.Run("does not wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := servertest.Slots(t, 1)
			m, err := poolasynq.New(poolasynq.Config{Pool: p, Workers: 100, Ask: func(context.Context, *asynq.Task) (string, pool.Request, error) {
				return "a", pool.Request{Needs: []resources.Vector{{1}}, MaxWait: 1}, nil
			}})
			require.NoError(t, err)
			require.NoError(t, process(t, m, "a", succeed))
			_, ok := p.TryAcquire("b", resources.Vector{1})
			require.True(t, ok)
			began := time.Now()
			err = process(t, m, "a", succeed)
			require.ErrorIs(t, err, pool.ErrWait)
			require.GreaterOrEqual(t, m.RetryDelay(1, err, nil), poolasynq.DefaultDelay)
			require.LessOrEqual(t, time.Since(began), time.Nanosecond)
		})
	})
	t.Run("no more workers are left than tasks of the tenant wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := servertest.Slots(t, 1)
			held, ok := p.TryAcquire("b", resources.Vector{1})
			require.True(t, ok)
			m, err := poolasynq.New(poolasynq.Config{Pool: p, Ask: tenantOf, Workers: 3})
			require.NoError(t, err)
			waits := make(chan error)
			go func() { waits <- process(t, m, "a", succeed) }()
			synctest.Wait()
			began := time.Now()
			err = process(t, m, "a", succeed) // one worker is left, and two would wait
			require.ErrorIs(t, err, pool.ErrQueueFull)
			require.False(t, m.IsFailure(err))
			require.LessOrEqual(t, time.Since(began), time.Nanosecond)
			require.NoError(t, held.Release())
			require.NoError(t, <-waits)
		})
	})
	t.Run("preempted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := servertest.Slots(t, 1)
			owner, err := p.Tenant("owner", pool.Settings{Guarantee: resources.Vector{1}})
			require.NoError(t, err)
			granted := make(chan error)
			m := middleware(t, p, 0)
			err = process(t, m, "a", func(ctx context.Context, _ *asynq.Task) error {
				go func() {
					granted <- owner.Do(t.Context(), resources.Vector{1}, func(context.Context, pool.Lease) error { return nil })
				}()
				<-ctx.Done()
				return ctx.Err()
			})
			require.ErrorIs(t, err, pool.ErrPreempted)
			require.False(t, m.IsFailure(err))
			require.NoError(t, <-granted)
		})
	})
	t.Run("pool is closed", func(t *testing.T) {
		p := servertest.Slots(t, 1)
		require.NoError(t, p.Close(t.Context()))
		m := middleware(t, p, 0)
		err := process(t, m, "a", succeed)
		require.ErrorIs(t, err, pool.ErrClosed)
		require.False(t, m.IsFailure(err))
		require.Equal(t, poolasynq.DefaultDelay, m.RetryDelay(1, err, nil))
	})
	for name, test := range map[string]struct {
		tenant string
		want   error
	}{"no tenant": {"", pool.ErrTenant}} {
		t.Run(name, func(t *testing.T) {
			m := middleware(t, servertest.Slots(t, 1), 0)
			err := process(t, m, test.tenant, succeed)
			require.ErrorIs(t, err, test.want)
			require.True(t, m.IsFailure(err))
		})
	}
	t.Run("error of Ask", func(t *testing.T) {
		require.EqualError(t, process(t, middleware(t, servertest.Slots(t, 1), 0), "unknown", succeed), "no such tenant")
	})
	t.Run("need that no machine meets", func(t *testing.T) {
		m, err := poolasynq.New(poolasynq.Config{Pool: servertest.Slots(t, 1), Workers: 100, Ask: func(context.Context, *asynq.Task) (string, pool.Request, error) {
			return "a", pool.Request{Needs: []resources.Vector{{2}}}, nil
		}})
		require.NoError(t, err)
		err = process(t, m, "a", succeed)
		require.ErrorIs(t, err, pool.ErrNeed)
		require.True(t, m.IsFailure(err))
	})
}

func TestNew_RefusesBadConfigs(t *testing.T) {
	p := servertest.Slots(t, 1)
	for text, cfg := range map[string]poolasynq.Config{
		"poolasynq: Pool or Ask is nil, want both: pool: invalid configuration": {Pool: p},
		"poolasynq: Delay -1ns, want 0 or more: pool: invalid configuration":    {Pool: p, Ask: tenantOf, Delay: -1},

		"poolasynq: Workers -1, want the Concurrency of the server: pool: invalid configuration": {Pool: p, Ask: tenantOf, Workers: -1},
		"poolasynq: Workers 0, want the Concurrency of the server: pool: invalid configuration":  {Pool: p, Ask: tenantOf},
	} {
		_, err := poolasynq.New(cfg)
		require.ErrorIs(t, err, pool.ErrConfig)
		require.EqualError(t, err, text)
	}
	_, err := poolasynq.New(poolasynq.Config{Ask: tenantOf})
	require.ErrorIs(t, err, pool.ErrConfig)
}
