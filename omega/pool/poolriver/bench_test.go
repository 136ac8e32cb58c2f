package poolriver_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/servertest"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/pool/poolriver"
)

// workers is the number of River's workers in the benchmarks, for pools of four slots.
const workers = 1000

// turns returns a middleware for that number of workers.
func turns(b *testing.B, p *pool.Pool) *poolriver.Middleware {
	b.Helper()
	m, err := poolriver.New(poolriver.Config{Pool: p, Ask: tenantOf, Workers: workers})
	require.NoError(b, err)
	return m
}

// BenchmarkWork measures a job that does nothing, without River around it.
func BenchmarkWork(b *testing.B) {
	m := turns(b, servertest.Slots(b, 1, "a"))
	job := &rivertype.JobRow{ID: 1, Metadata: []byte(`{"tenant": "a"}`)}
	nothing := func(context.Context) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		if err := m.Work(b.Context(), job, nothing); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWork_Parallel is BenchmarkWork with a job at a time on each core.
func BenchmarkWork_Parallel(b *testing.B) {
	m := turns(b, servertest.Slots(b, int64(runtime.GOMAXPROCS(0)), "a"))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		job := &rivertype.JobRow{ID: 1, Metadata: []byte(`{"tenant": "a"}`)}
		for pb.Next() {
			if err := m.Work(b.Context(), job, func(context.Context) error { return nil }); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkFlood measures how long the jobs of one tenant wait, from their insertion to
// their start, alone and while another tenant has 5,000 jobs queued before them. The
// jobs come one after the other, two or ten at once. With "poll" River looks for jobs each
// 20 ms, and not each second.
func BenchmarkFlood(b *testing.B) {
	for _, c := range []struct {
		name  string
		burst int
		poll  time.Duration
	}{{"burst=1", 1, time.Second}, {"burst=2", 2, time.Second}, {"burst=10", 10, time.Second}, {"burst=2/poll", 2, 20 * time.Millisecond}, {"burst=10/poll", 10, 20 * time.Millisecond}} {
		for _, flood := range []int{0, 5000} {
			b.Run(fmt.Sprint(c.name, "/flood=", flood), func(b *testing.B) {
				for b.Loop() {
					waits := floodOf(b, flood, c.burst, c.poll)
					slices.Sort(waits)
					b.ReportMetric(float64(waits[len(waits)/2].Milliseconds()), "ms/wait-p50")
					b.ReportMetric(float64(waits[len(waits)*9/10].Milliseconds()), "ms/wait-p90")
					b.ReportMetric(float64(waits[len(waits)-1].Milliseconds()), "ms/wait-most")
				}
			})
		}
	}
}

// floodOf returns the waits of 50 jobs, inserted in bursts, each after the one before has
// started.
func floodOf(b *testing.B, flood, burst int, poll time.Duration) (waits []time.Duration) {
	b.Helper()
	const jobs = 50
	q := newQueue(b)
	m := turns(b, servertest.Slots(b, 4))
	started := make(chan time.Time, burst)
	c := q.client(m, func(_ context.Context, j *river.Job[task]) error {
		if j.Args.Number < jobs {
			started <- time.Now()
		}
		time.Sleep(20 * time.Millisecond) // the work
		return nil
	}, func(cfg *river.Config) {
		cfg.Queues[river.QueueDefault] = river.QueueConfig{MaxWorkers: workers}
		cfg.FetchPollInterval, cfg.FetchCooldown = poll, min(poll, river.FetchCooldownDefault)
	})
	if flood > 0 {
		q.insert(c, "flood", jobs, flood)
	}
	for i := 0; i < jobs; i += burst {
		began := time.Now()
		q.insert(c, "other", i, burst)
		for range burst {
			waits = append(waits, (<-started).Sub(began))
		}
	}
	require.NoError(b, c.StopAndCancel(context.WithoutCancel(b.Context())))
	return waits
}

// BenchmarkDrain measures the jobs of 20 ms a second that four slots run of 1,000 that
// are queued. Without a queue they run 200. "Alone" is River with four workers and no
// middleware. With "Queue=4" four jobs of the tenant wait in the pool; with "Workers" as
// many as workers are left.
func BenchmarkDrain(b *testing.B) {
	for _, c := range []struct {
		name            string
		queued, workers int
	}{{"alone", 0, 4}, {"Workers", 0, workers}, {"Queue=4", 4, workers}} {
		b.Run(c.name, func(b *testing.B) {
			const jobs = 1000
			for b.Loop() {
				q := newQueue(b)
				p := servertest.Slots(b, 4)
				_, err := p.Tenant("flood", pool.Settings{Queue: c.queued})
				require.NoError(b, err)
				m := turns(b, p)
				var ran, came atomic.Int64
				all := make(chan struct{})
				var middleware rivertype.Middleware = &counter{m, &came}
				if c.name == "alone" {
					middleware = &river.MiddlewareDefaults{}
					came.Store(jobs)
				}
				client := q.client(middleware, func(context.Context, *river.Job[task]) error {
					time.Sleep(20 * time.Millisecond) // the work
					if ran.Add(1) == jobs {
						close(all)
					}
					return nil
				}, func(cfg *river.Config) { cfg.Queues[river.QueueDefault] = river.QueueConfig{MaxWorkers: c.workers} })
				began := time.Now()
				q.insert(client, "flood", 0, jobs)
				<-all
				b.ReportMetric(jobs/time.Since(began).Seconds(), "jobs/s")
				b.ReportMetric(float64(came.Load())/jobs, "turns/job")
				require.NoError(b, client.Stop(context.WithoutCancel(b.Context())))
			}
		})
	}
}

// counter is a middleware that counts how often jobs come.
type counter struct {
	*poolriver.Middleware
	came *atomic.Int64
}

func (c *counter) Work(ctx context.Context, job *rivertype.JobRow, doInner func(context.Context) error) error {
	c.came.Add(1)
	return c.Middleware.Work(ctx, job, doInner)
}
