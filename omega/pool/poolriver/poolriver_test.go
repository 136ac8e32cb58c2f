package poolriver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/servertest"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/pool/poolriver"
	"github.com/cellsched/cellsched/resources"
)

// task is the arguments of a job. Its tenant is in the metadata, as in a program that
// adds tenants to the jobs that it has.
type task struct {
	Number int `json:"number"`
}

func (task) Kind() string { return "task" }

// tenantOf asks for a slot for the tenant that the metadata name.
func tenantOf(job *rivertype.JobRow) (string, pool.Request, error) {
	var about struct{ Tenant string }
	if err := json.Unmarshal(job.Metadata, &about); err != nil {
		return "", pool.Request{}, err
	}
	return about.Tenant, pool.Request{Needs: []resources.Vector{{1}}, MaxWait: time.Second}, nil
}

func middleware(tb testing.TB, p *pool.Pool, snooze time.Duration) *poolriver.Middleware {
	tb.Helper()
	m, err := poolriver.New(poolriver.Config{Pool: p, Ask: tenantOf, Snooze: snooze, Workers: 100})
	require.NoError(tb, err)
	return m
}

// queue is River on a database of its own.
type queue struct {
	tb  testing.TB
	db  *pgxpool.Pool
	dsn string
}

func newQueue(tb testing.TB) *queue {
	tb.Helper()
	dsn := servertest.Postgres(tb)
	db, err := pgxpool.New(tb.Context(), dsn)
	require.NoError(tb, err)
	tb.Cleanup(db.Close)
	q := &queue{tb, db, dsn}
	m, err := rivermigrate.New(riverpgxv5.New(db), nil)
	require.NoError(tb, err)
	_, err = m.Migrate(tb.Context(), rivermigrate.DirectionUp, nil)
	require.NoError(tb, err)
	return q
}

// atOnce retries a job without a pause after it failed, or after its process has ended.
type atOnce struct{}

func (atOnce) NextRetry(*rivertype.JobRow) time.Time { return time.Now() }

// client returns a client that works jobs by a function, until stop is called.
func (q *queue) client(m rivertype.Middleware, work func(context.Context, *river.Job[task]) error, change ...func(*river.Config)) *river.Client[pgx.Tx] {
	q.tb.Helper()
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(work))
	cfg := &river.Config{
		Logger:      slog.New(slog.NewTextHandler(io.Discard, nil)),
		Middleware:  []rivertype.Middleware{m},
		Queues:      map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 100}},
		RetryPolicy: atOnce{},
		Workers:     workers,
	}
	for _, f := range change {
		f(cfg)
	}
	c, err := river.NewClient(riverpgxv5.New(q.db), cfg)
	require.NoError(q.tb, err)
	require.NoError(q.tb, c.Start(q.tb.Context()))
	return c
}

// insert adds n jobs of a tenant, with so many attempts at most if there is a number.
func (q *queue) insert(c *river.Client[pgx.Tx], tenant string, first, n int, attempts ...int) {
	q.tb.Helper()
	var list []river.InsertManyParams
	for i := range n {
		list = append(list, river.InsertManyParams{
			Args: task{first + i}, InsertOpts: &river.InsertOpts{Metadata: fmt.Appendf(nil, `{"tenant": %q}`, tenant)},
		})
		for _, most := range attempts {
			list[i].InsertOpts.MaxAttempts = most
		}
	}
	_, err := c.InsertManyFast(q.tb.Context(), list)
	require.NoError(q.tb, err)
}

// count returns the number of jobs in a state, and the most attempts of them.
func (q *queue) count(state rivertype.JobState) (n, attempts int) {
	q.tb.Helper()
	row := q.db.QueryRow(q.tb.Context(), `SELECT count(*), coalesce(max(attempt), 0) FROM river_job WHERE state = $1`, state)
	require.NoError(q.tb, row.Scan(&n, &attempts))
	return n, attempts
}

// notes is a middleware that closes a channel when the first job is put off.
type notes struct {
	*poolriver.Middleware
	once  sync.Once
	first chan struct{}
}

func (n *notes) Work(ctx context.Context, job *rivertype.JobRow, doInner func(context.Context) error) error {
	err := n.Middleware.Work(ctx, job, doInner)
	if snooze := (*river.JobSnoozeError)(nil); errors.As(err, &snooze) {
		n.once.Do(func() { close(n.first) })
	}
	return err
}

// Jobs are put off again and again, and run in the end: each once, with one attempt, no
// more at a time than there are slots.
func TestMiddleware_RunsEachJobOfAFlood(t *testing.T) {
	q := newQueue(t)
	p := servertest.Slots(t, 2, "flood", "other")
	const flood, other = 300, 20
	var mu sync.Mutex
	ran := map[int]int{}
	var running, most atomic.Int64
	all := make(chan struct{})
	m := &notes{Middleware: middleware(t, p, 10*time.Millisecond), first: make(chan struct{})}
	c := q.client(m, func(ctx context.Context, j *river.Job[task]) error {
		<-m.first // the slots are taken until a job was put off
		now := running.Add(1)
		for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
		}
		defer running.Add(-1)
		if leases := slices.Collect(pool.Leases(ctx)); len(leases) != 1 {
			t.Errorf("leases %v, want one", leases)
		}
		mu.Lock()
		defer mu.Unlock()
		if ran[j.Args.Number]++; len(ran) == flood+other {
			close(all)
		}
		return nil
	})
	q.insert(c, "flood", 0, flood)
	q.insert(c, "other", flood, other)
	<-all
	require.NoError(t, c.Stop(context.WithoutCancel(t.Context())))
	n, attempts := q.count(rivertype.JobStateCompleted)
	require.Equal(t, flood+other, n)
	require.Equal(t, 1, attempts, "a job that was put off has spent no attempt")
	var snoozes int
	row := q.db.QueryRow(t.Context(), `SELECT coalesce(sum((metadata->>'snoozes')::int), 0) FROM river_job`)
	require.NoError(t, row.Scan(&snoozes))
	require.Positive(t, snoozes, "no job was put off")
	require.LessOrEqual(t, most.Load(), int64(2))
	for number, times := range ran {
		require.Equal(t, 1, times, "job %d", number)
	}
}

func TestWork_PutsOffWhatMayRunLater(t *testing.T) {
	mine := errors.New("mine")
	job := func(id int64, tenant string) *rivertype.JobRow {
		return &rivertype.JobRow{ID: id, Metadata: fmt.Appendf(nil, `{"tenant": %q}`, tenant)}
	}
	succeed := func(context.Context) error { return nil }
	snoozed := func(t *testing.T, err error) time.Duration {
		t.Helper()
		var snooze *river.JobSnoozeError
		require.ErrorAs(t, err, &snooze)
		return snooze.Duration
	}
	t.Run("admitted", func(t *testing.T) {
		m := middleware(t, servertest.Slots(t, 1), 0)
		require.NoError(t, m.Work(t.Context(), job(1, "a"), succeed))
		require.ErrorIs(t, m.Work(t.Context(), job(1, "a"), func(context.Context) error { return mine }), mine)
	})
	t.Run("for DefaultSnooze where nothing is known", func(t *testing.T) {
		p := servertest.Slots(t, 1)
		m := middleware(t, p, 0)
		require.NoError(t, p.Close(t.Context()))
		require.Equal(t, poolriver.DefaultSnooze, snoozed(t, m.Work(t.Context(), job(1, "a"), succeed)))
	})
	t.Run("waited too long", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := servertest.Slots(t, 1)
			_, ok := p.TryAcquire("b", resources.Vector{1})
			require.True(t, ok)
			m := middleware(t, p, 0)
			for id := range int64(10) {
				require.GreaterOrEqual(t, snoozed(t, m.Work(t.Context(), job(id, "a"), succeed)), poolriver.DefaultSnooze)
			}
		})
	})
	t.Run("does not wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := servertest.Slots(t, 1)
			m, err := poolriver.New(poolriver.Config{Pool: p, Workers: 100, Ask: func(*rivertype.JobRow) (string, pool.Request, error) {
				return "a", pool.Request{Needs: []resources.Vector{{1}}, MaxWait: 1}, nil
			}})
			require.NoError(t, err)
			require.NoError(t, m.Work(t.Context(), job(1, "a"), succeed))
			_, ok := p.TryAcquire("b", resources.Vector{1})
			require.True(t, ok)
			began := time.Now()
			require.GreaterOrEqual(t, snoozed(t, m.Work(t.Context(), job(1, "a"), succeed)), poolriver.DefaultSnooze)
			require.LessOrEqual(t, time.Since(began), time.Nanosecond)
		})
	})
	t.Run("no more workers are left than jobs of the tenant wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := servertest.Slots(t, 1)
			held, ok := p.TryAcquire("b", resources.Vector{1})
			require.True(t, ok)
			m, err := poolriver.New(poolriver.Config{Pool: p, Ask: tenantOf, Workers: 3})
			require.NoError(t, err)
			waits := make(chan error)
			go func() { waits <- m.Work(t.Context(), job(1, "a"), succeed) }()
			synctest.Wait()
			began := time.Now()
			snoozed(t, m.Work(t.Context(), job(2, "a"), succeed)) // one worker is left, and two would wait
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
			err = middleware(t, p, time.Minute).Work(t.Context(), job(1, "a"), func(ctx context.Context) error {
				go func() {
					granted <- owner.Do(t.Context(), resources.Vector{1}, func(context.Context, pool.Lease) error { return nil })
				}()
				<-ctx.Done()
				return ctx.Err()
			})
			require.GreaterOrEqual(t, snoozed(t, err), time.Minute)
			require.NoError(t, <-granted)
		})
	})
	t.Run("pool is closed", func(t *testing.T) {
		p := servertest.Slots(t, 1)
		require.NoError(t, p.Close(t.Context()))
		snoozed(t, middleware(t, p, 0).Work(t.Context(), job(1, "a"), succeed))
	})
	t.Run("bad metadata", func(t *testing.T) {
		err := middleware(t, servertest.Slots(t, 1), 0).Work(t.Context(), &rivertype.JobRow{Metadata: []byte(`{`)}, succeed)
		require.ErrorContains(t, err, "JSON")
	})
	t.Run("no tenant", func(t *testing.T) {
		require.ErrorIs(t, middleware(t, servertest.Slots(t, 1), 0).Work(t.Context(), job(1, ""), succeed), pool.ErrTenant)
	})
	t.Run("need that no machine meets", func(t *testing.T) {
		m, err := poolriver.New(poolriver.Config{Pool: servertest.Slots(t, 1), Workers: 100, Ask: func(*rivertype.JobRow) (string, pool.Request, error) {
			return "a", pool.Request{Needs: []resources.Vector{{2}}}, nil
		}})
		require.NoError(t, err)
		require.ErrorIs(t, m.Work(t.Context(), job(1, "a"), succeed), pool.ErrNeed)
	})
	t.Run("context has ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, middleware(t, servertest.Slots(t, 1), 0).Work(ctx, job(1, "a"), succeed), context.Canceled)
	})
}

func TestWork_ServesHigherPrioritiesOfATenantFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := servertest.Slots(t, 1)
		held, ok := p.TryAcquire("b", resources.Vector{1})
		require.True(t, ok)
		m, err := poolriver.New(poolriver.Config{Pool: p, Workers: 100, Ask: func(job *rivertype.JobRow) (string, pool.Request, error) {
			return "a", pool.Request{Needs: []resources.Vector{{1}}, Priority: 5 - job.Priority}, nil
		}})
		require.NoError(t, err)
		var order []int
		var jobs sync.WaitGroup
		for _, priority := range []int{2, 3, 1} {
			jobs.Go(func() {
				err := m.Work(t.Context(), &rivertype.JobRow{Priority: priority}, func(context.Context) error {
					order = append(order, priority)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		require.NoError(t, held.Release())
		jobs.Wait()
		require.Equal(t, []int{1, 2, 3}, order, "1 is the highest of River")
	})
}

func TestNew_RefusesBadConfigs(t *testing.T) {
	p := servertest.Slots(t, 1)
	for text, cfg := range map[string]poolriver.Config{
		"poolriver: Pool or Ask is nil, want both: pool: invalid configuration": {Pool: p},
		"poolriver: Snooze -1ns, want 0 or more: pool: invalid configuration":   {Pool: p, Ask: tenantOf, Snooze: -1},

		"poolriver: Workers -1, want the MaxWorkers of the queue: pool: invalid configuration": {Pool: p, Ask: tenantOf, Workers: -1},
		"poolriver: Workers 0, want the MaxWorkers of the queue: pool: invalid configuration":  {Pool: p, Ask: tenantOf},
	} {
		_, err := poolriver.New(cfg)
		require.ErrorIs(t, err, pool.ErrConfig)
		require.EqualError(t, err, text)
	}
	_, err := poolriver.New(poolriver.Config{Ask: tenantOf})
	require.ErrorIs(t, err, pool.ErrConfig)
}
