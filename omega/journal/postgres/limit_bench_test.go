//go:build linux

package postgres_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/servertest"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

const (
	services = 4  // processes of the service
	workers  = 4  // goroutines in each
	allowed  = 64 // jobs at a time in all of them
)

// limiter runs a job where a limit has room for it.
type limiter func(ctx context.Context, job func()) error

// replicas returns a limiter for each process: pools on one cell in a journal.
func replicas(b *testing.B, dsn, name string, limit int64) (all []limiter) {
	b.Helper()
	for range services {
		store := open(b, connect(b, dsn), name)
		cell, err := journal.Open(b.Context(), store, journal.Config{
			First: omega.Config{Machines: []omega.Machine{{Name: "all", Capacity: resources.Vector{1000}}}}, TTL: 10 * time.Second,
		})
		require.NoError(b, err)
		s, err := cell.Ephemeral(b.Context(), "service", omega.Limits{Divisible: true})
		require.NoError(b, err)
		board, err := cell.Board(b.Context(), "service")
		require.NoError(b, err)
		p, err := pool.New(pool.Config{Cell: cell.Cell, Scheduler: s, Replicas: board, Chunk: 4, Tenants: limited(limit)})
		require.NoError(b, err)
		b.Cleanup(func() {
			require.NoError(b, p.Close(context.Background()))
			require.NoError(b, cell.Close(context.Background()))
		})
		all = append(all, by(p))
	}
	return all
}

func limited(limit int64) map[string]pool.Settings {
	return map[string]pool.Settings{"mail": {Limited: true, Limit: resources.Vector{limit}}}
}

func by(p *pool.Pool) limiter {
	return func(ctx context.Context, job func()) error {
		l, err := p.Acquire(ctx, "mail", resources.Vector{1})
		if err != nil {
			return err
		}
		job()
		return l.Release()
	}
}

// counted returns a limiter that counts jobs in a row of the database. A job that finds no room
// tries again after a millisecond, and then twice as long up to 16. With one statement the
// row is locked for that alone, else from the SELECT … FOR UPDATE to the commit.
func counted(db *pgxpool.Pool, limit int64, oneStatement bool) limiter {
	take := func(ctx context.Context) (ok bool, err error) {
		if oneStatement {
			tag, err := db.Exec(ctx, `UPDATE counter SET n = n + 1 WHERE n < $1`, limit)
			return tag.RowsAffected() == 1, err
		}
		tx, err := db.Begin(ctx)
		if err != nil {
			return false, err
		}
		var n int64
		if err = tx.QueryRow(ctx, `SELECT n FROM counter FOR UPDATE`).Scan(&n); err == nil && n < limit {
			ok = true
			_, err = tx.Exec(ctx, `UPDATE counter SET n = n + 1`)
		}
		if err != nil {
			_ = tx.Rollback(ctx)
			return false, err
		}
		return ok, tx.Commit(ctx)
	}
	return func(ctx context.Context, job func()) error {
		for wait := time.Millisecond; ; wait = min(2*wait, 16*time.Millisecond) {
			ok, err := take(ctx)
			if err != nil {
				return err
			}
			if ok {
				break
			}
			time.Sleep(wait)
		}
		job()
		_, err := db.Exec(ctx, `UPDATE counter SET n = n - 1`)
		return err
	}
}

// BenchmarkLimit is a service of four processes, 16 workers in all, that may run so many jobs at a
// time: by pools on one cell in a journal, and by a row that counts. An iteration is a job. The
// server syncs its log.
func BenchmarkLimit(b *testing.B) {
	dsn := servertest.Postgres(b, "fsync=on")
	for _, c := range []struct {
		limit int64
		work  time.Duration
	}{{allowed, 0}, {allowed, 5 * time.Millisecond}, {8, 0}, {8, 5 * time.Millisecond}} {
		for _, kind := range []string{"replicas", "row", "row-for-update"} {
			b.Run(fmt.Sprintf("limit=%d/work=%v/by=%s", c.limit, c.work, kind), func(b *testing.B) {
				var all []limiter
				if kind == "replicas" {
					all = replicas(b, dsn, b.Name()+strconv.Itoa(b.N), c.limit)
				} else {
					query(b, connect(b, dsn), `DROP TABLE IF EXISTS counter`)
					query(b, connect(b, dsn), `CREATE TABLE counter AS SELECT 0::bigint AS n`)
					for range services {
						all = append(all, counted(connect(b, dsn+" pool_max_conns=8"), c.limit, kind == "row"))
					}
				}
				var left, running atomic.Int64
				left.Store(int64(b.N))
				var group sync.WaitGroup
				b.ResetTimer()
				for _, limit := range all {
					for range workers {
						group.Go(func() {
							for left.Add(-1) >= 0 {
								if err := limit(b.Context(), func() {
									if n := running.Add(1); n > c.limit {
										b.Errorf("%d jobs run, %d are allowed", n, c.limit)
									}
									if c.work > 0 {
										time.Sleep(c.work)
									}
									running.Add(-1)
								}); err != nil {
									b.Error(err)
									return
								}
							}
						})
					}
				}
				group.Wait()
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
			})
		}
	}
}

// BenchmarkLocal is a lease where no request waits: of a pool of its own, and of one of four
// replicas. An iteration is an Acquire and a Release.
func BenchmarkLocal(b *testing.B) {
	dsn := servertest.Postgres(b)
	own, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "all", Capacity: resources.Vector{1000}}}, Tenants: limited(allowed)})
	require.NoError(b, err)
	defer func() { require.NoError(b, own.Close(context.Background())) }()
	for _, l := range []struct {
		name  string
		limit limiter
	}{{"private", by(own)}, {"replica", replicas(b, dsn, "local", allowed)[0]}} {
		b.Run("by="+l.name, func(b *testing.B) {
			for b.Loop() {
				if err := l.limit(b.Context(), func() {}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
