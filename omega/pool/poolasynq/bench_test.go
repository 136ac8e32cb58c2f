package poolasynq_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/servertest"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/pool/poolasynq"
)

// workers is the Concurrency of the server in the benchmarks, for pools of four slots.
const workers = 1000

// turns returns a middleware for that number of workers.
func turns(b *testing.B, p *pool.Pool) *poolasynq.Middleware {
	b.Helper()
	m, err := poolasynq.New(poolasynq.Config{Pool: p, Ask: tenantOf, Workers: workers})
	require.NoError(b, err)
	return m
}

// BenchmarkHandler measures a task that does nothing, without Asynq around it.
func BenchmarkHandler(b *testing.B) {
	m := turns(b, servertest.Slots(b, 1, "a"))
	h := m.Handler(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { return nil }))
	task := asynq.NewTask("a", nil)
	b.ReportAllocs()
	for b.Loop() {
		if err := h.ProcessTask(b.Context(), task); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHandler_Parallel is BenchmarkHandler with a task at a time on each core.
func BenchmarkHandler_Parallel(b *testing.B) {
	m := turns(b, servertest.Slots(b, int64(runtime.GOMAXPROCS(0)), "a"))
	h := m.Handler(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { return nil }))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		task := asynq.NewTask("a", nil)
		for pb.Next() {
			if err := h.ProcessTask(b.Context(), task); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkFlood measures how long the tasks of one tenant wait, from their enqueueing to
// their start, alone and while another tenant has 5,000 tasks queued before them. The
// tasks come one after the other, two or ten at once. With "weight=4" they get four parts of
// five beside the flood, and not half.
func BenchmarkFlood(b *testing.B) {
	for _, c := range []struct {
		name          string
		burst, weight int
	}{{"burst=1", 1, 1}, {"burst=2", 2, 1}, {"burst=10", 10, 1}, {"burst=10/weight=4", 10, 4}} {
		for _, flood := range []int{0, 5000} {
			b.Run(fmt.Sprint(c.name, "/flood=", flood), func(b *testing.B) {
				for b.Loop() {
					waits := floodOf(b, flood, c.burst, c.weight)
					slices.Sort(waits)
					b.ReportMetric(float64(waits[len(waits)/2].Milliseconds()), "ms/wait-p50")
					b.ReportMetric(float64(waits[len(waits)*9/10].Milliseconds()), "ms/wait-p90")
					b.ReportMetric(float64(waits[len(waits)-1].Milliseconds()), "ms/wait-most")
				}
			})
		}
	}
}

// floodOf returns the waits of 50 tasks, enqueued in bursts, each after the one before has
// started.
func floodOf(b *testing.B, flood, burst, weight int) (waits []time.Duration) {
	b.Helper()
	q := newQueue(b)
	p := servertest.Slots(b, 4)
	_, err := p.Tenant("other", pool.Settings{Weight: float64(weight)})
	require.NoError(b, err)
	m := turns(b, p)
	started := make(chan time.Time, burst)
	q.enqueue("flood", 0, flood)
	s := q.serve(m, func(_ context.Context, task *asynq.Task) error {
		if task.Type() == "other" {
			started <- time.Now()
		}
		time.Sleep(20 * time.Millisecond) // the work
		return nil
	}, func(cfg *asynq.Config) { cfg.Concurrency = workers })
	for i := 0; i < 50; i += burst {
		began := time.Now()
		q.enqueue("other", i, burst)
		for range burst {
			waits = append(waits, (<-started).Sub(began))
		}
	}
	s.Shutdown()
	return waits
}

// BenchmarkDrain measures the tasks of 20 ms a second that four slots run of 1,000 that
// are queued. Without a queue they run 200. "Alone" is Asynq with four workers and no
// middleware. With "Queue=4" four tasks of the tenant wait in the pool; with "Workers" as
// many as workers are left.
func BenchmarkDrain(b *testing.B) {
	for _, c := range []struct {
		name            string
		queued, workers int
	}{{"alone", 0, 4}, {"Workers", 0, workers}, {"Queue=4", 4, workers}} {
		b.Run(c.name, func(b *testing.B) {
			const tasks = 1000
			for b.Loop() {
				q := newQueue(b)
				p := servertest.Slots(b, 4)
				_, err := p.Tenant("flood", pool.Settings{Queue: c.queued})
				require.NoError(b, err)
				m := turns(b, p)
				var ran, came atomic.Int64
				all := make(chan struct{})
				q.enqueue("flood", 0, tasks)
				began := time.Now()
				var handler asynq.Handler = asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
					time.Sleep(20 * time.Millisecond) // the work
					if ran.Add(1) == tasks {
						close(all)
					}
					return nil
				})
				cfg := asynq.Config{
					Concurrency: c.workers, Logger: silent{}, LogLevel: asynq.FatalLevel,
					DelayedTaskCheckInterval: 20 * time.Millisecond, TaskCheckInterval: 20 * time.Millisecond,
				}
				if c.name != "alone" {
					m.Configure(&cfg)
					handler = m.Handler(handler)
				}
				s := asynq.NewServer(q.redis, cfg)
				require.NoError(b, s.Start(asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
					came.Add(1)
					return handler.ProcessTask(ctx, task)
				})))
				<-all
				b.ReportMetric(tasks/time.Since(began).Seconds(), "tasks/s")
				b.ReportMetric(float64(came.Load())/tasks, "turns/task")
				s.Shutdown()
			}
		})
	}
}
