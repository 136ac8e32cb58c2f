package poolriver_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cellsched/cellsched/internal/servertest"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/pool/poolriver"
	"github.com/cellsched/cellsched/resources"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A worker process that is killed in the middle of its jobs loses none that has an attempt
// left. River hands its running jobs to the next process. It discards those on their last
// attempt, also where they had not begun.
func TestMiddleware_LosesNoJobOfAProcessThatIsKilled(t *testing.T) {
	q := newQueue(t)
	const jobs, single = 60, 30 // with attempts left, and with one attempt
	idle, err := river.NewClient(riverpgxv5.New(q.db), &river.Config{})
	require.NoError(t, err)
	q.insert(idle, "a", 0, jobs)
	q.insert(idle, "a", jobs, single, 1)
	child := servertest.NewChild(t, "TestWorkerProcess", "POOLRIVER_DATABASE="+q.dsn)
	for range 4 {
		child.Await("hangs") // until all slots are taken
	}
	child.Kill()
	completed, _ := q.count(rivertype.JobStateCompleted)
	running, _ := q.count(rivertype.JobStateRunning)
	require.GreaterOrEqual(t, running, 4)
	var lost int // of those with one attempt
	row := q.db.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE state = 'running' AND max_attempts = 1`)
	require.NoError(t, row.Scan(&lost))
	require.GreaterOrEqual(t, lost, 2)
	require.GreaterOrEqual(t, running-lost, 2)

	// For the test an hour passes: River then takes the process for dead.
	_, err = q.db.Exec(t.Context(), `UPDATE river_job SET attempted_at = now() - interval '2 hours' WHERE state = 'running'`)
	require.NoError(t, err)
	_, err = q.db.Exec(t.Context(), `DELETE FROM river_leader`)
	require.NoError(t, err)
	all := make(chan struct{})
	var left atomic.Int64
	left.Store(int64(jobs + single - lost - completed))
	p := servertest.Slots(t, 4, "a")
	c := q.client(middleware(t, p, 10*time.Millisecond), func(context.Context, *river.Job[task]) error {
		if left.Add(-1) == 0 {
			close(all)
		}
		return nil
	})
	<-all
	require.NoError(t, c.Stop(context.WithoutCancel(t.Context())))
	n, _ := q.count(rivertype.JobStateCompleted)
	require.Equal(t, jobs+single-lost, n)
	n, _ = q.count(rivertype.JobStateDiscarded)
	require.Equal(t, lost, n)
	require.Zero(t, left.Load(), "a job that had ended has run again")
	require.Zero(t, p.Stats().Leases)
}

// TestWorkerProcess is the worker process of the test above. Two jobs of each kind hang.
func TestWorkerProcess(t *testing.T) {
	dsn := os.Getenv("POOLRIVER_DATABASE")
	if dsn == "" {
		t.Skip("the process of another test")
	}
	db, err := pgxpool.New(t.Context(), dsn)
	require.NoError(t, err)
	q := &queue{t, db, dsn}
	var kinds [2]atomic.Int64
	q.client(middleware(t, servertest.Slots(t, 4, "a"), 10*time.Millisecond), func(_ context.Context, j *river.Job[task]) error {
		kind := &kinds[0]
		if j.MaxAttempts == 1 {
			kind = &kinds[1]
		}
		if kind.Add(1) <= 2 {
			fmt.Println("hangs")
			select {}
		}
		return nil
	})
	select {}
}

// A process that stops hands back the jobs that wait in the pool, with their attempt, also
// the last one.
func TestMiddleware_HandsWaitingJobsBackWhereTheClientStops(t *testing.T) {
	q := newQueue(t)
	p := servertest.Slots(t, 1)
	held, ok := p.TryAcquire("holder", resources.Vector{1})
	require.True(t, ok)
	asked := make(chan bool, 2)
	m, err := poolriver.New(poolriver.Config{Pool: p, Workers: 100, Ask: func(*rivertype.JobRow) (string, pool.Request, error) {
		asked <- true
		return "a", pool.Request{Needs: []resources.Vector{{1}}}, nil
	}})
	require.NoError(t, err)
	c := q.client(m, func(context.Context, *river.Job[task]) error { return errors.New("has run") })
	q.insert(c, "a", 0, 1, 1)
	q.insert(c, "a", 1, 1, 5)
	<-asked
	<-asked
	require.NoError(t, c.StopAndCancel(context.WithoutCancel(t.Context())))
	n, attempts := q.count(rivertype.JobStateAvailable)
	require.Equal(t, [...]int{2, 0}, [...]int{n, attempts})
	require.NoError(t, held.Release())
}

func TestConfigure_AddsTheMiddlewareAndItsWorkers(t *testing.T) {
	m := middleware(t, servertest.Slots(t, 1), 0)
	first := &river.MiddlewareDefaults{}
	queues := map[string]river.QueueConfig{"a": {}, "b": {MaxWorkers: 7, FetchCooldown: time.Second}}
	cfg := &river.Config{Middleware: []rivertype.Middleware{first}, Queues: queues}
	m.Configure(cfg)
	require.Equal(t, []rivertype.Middleware{first, m}, cfg.Middleware)
	require.Equal(t, map[string]river.QueueConfig{"a": {MaxWorkers: 100}, "b": {MaxWorkers: 100, FetchCooldown: time.Second}}, cfg.Queues)
	require.Equal(t, 7, queues["b"].MaxWorkers, "of the caller")

	m.Configure(nil)
	cfg = &river.Config{}
	(*poolriver.Middleware)(nil).Configure(cfg)
	require.Len(t, cfg.Middleware, 1)
	w, ok := cfg.Middleware[0].(rivertype.WorkerMiddleware)
	require.True(t, ok)
	require.ErrorIs(t, w.Work(t.Context(), &rivertype.JobRow{}, nil), pool.ErrConfig)
}
