//go:build linux

package postgres_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/journals"
	"github.com/cellsched/cellsched/internal/servertest"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
)

// BenchmarkClaims is four processes that claim on 5,000 machines: by a journal, with a copy of
// the cell in each, and by rows with versions, without placing or copies. An iteration is a
// commit. The server syncs its log.
func BenchmarkClaims(b *testing.B) {
	dsn := servertest.Postgres(b, "fsync=on")
	for _, c := range []struct{ schedulers, claims int }{{1, 64}, {4, 16}} {
		b.Run(fmt.Sprintf("by=journal/schedulers=%d/claims=%d", 4*c.schedulers, c.claims), func(b *testing.B) {
			var copies []*omega.Cell
			for range 4 {
				store := open(b, connect(b, dsn), b.Name()+strconv.Itoa(b.N))
				cell, err := journal.Open(b.Context(), store, journal.Config{First: omega.Config{Machines: journals.Machines()}})
				require.NoError(b, err)
				defer func() { require.NoError(b, cell.Close(b.Context())) }()
				copies = append(copies, cell.Cell)
			}
			used := serverTime(b, dsn)
			journals.TurnoverOf(b, copies, c.schedulers, c.claims, nil)
			b.ReportMetric(float64(serverTime(b, dsn)-used)/float64(b.N*c.claims), "server-ns/claim")
		})
	}
	b.Run("by=rows/schedulers=4/claims=64", func(b *testing.B) { byRows(b, dsn, 4, 64, true) })
	b.Run("by=rows-without-release/schedulers=4/claims=64", func(b *testing.B) { byRows(b, dsn, 4, 64, false) })
}

// byRows claims on rows with versions: a claim holds if its machine has the version that the
// writer knows. Refused claims are sent again, with the versions that the refusal brought. The statement also
// gives back the claims of an earlier commit, as a commit by the journal does, unless releases is false.
func byRows(b *testing.B, dsn string, writers, claims int, releases bool) {
	b.Helper()
	pool := connect(b, dsn+" pool_max_conns=8")
	query(b, pool, `DROP TABLE IF EXISTS machine`)
	query(b, pool, `CREATE TABLE machine (id integer PRIMARY KEY, free bigint NOT NULL, version bigint NOT NULL) WITH (fillfactor = 50)`)
	query(b, pool, `INSERT INTO machine SELECT i, 1000000000, 0 FROM generate_series(0, 4999) i`)
	next := make(chan struct{})
	tries := make([]int, writers)
	var running sync.WaitGroup
	for i := range writers {
		running.Go(func() {
			versions, rng := make([]int64, 5000), rand.New(rand.NewPCG(1, uint64(i)))
			var held []int
			for range next {
				wanted := rng.Perm(5000)[:claims]
				var released []int
				if releases {
					held = append(held, wanted...)
					released = held[:min(claims, max(0, len(held)-2*claims))]
					held = held[len(released):]
				}
				for len(wanted) > 0 {
					tries[i]++
					refused, err := claimRows(b, pool, wanted, released, versions)
					released = nil
					if err != nil {
						b.Error(err)
						return
					}
					wanted = refused
				}
			}
		})
	}
	used := serverTime(b, dsn)
	for b.Loop() {
		next <- struct{}{}
	}
	close(next)
	running.Wait()
	total := 0
	for _, n := range tries {
		total += n
	}
	b.ReportMetric(float64(b.N*claims)/b.Elapsed().Seconds(), "claims/s")
	b.ReportMetric(float64(total)/float64(b.N), "tries/op")
	b.ReportMetric(float64(serverTime(b, dsn)-used)/float64(b.N*claims), "server-ns/claim")
}

// claimRows claims one unit of some machines in one statement, and gives one back of others. It locks their rows in
// one order. It brings the versions that are there now, and returns the machines that have another one than was known.
func claimRows(b *testing.B, pool *pgxpool.Pool, wanted, released []int, versions []int64) (refused []int, err error) {
	b.Helper()
	known, sign := make([]*int64, 0, len(wanted)+len(released)), map[int]int{}
	slices.SortFunc(wanted, cmp.Compare)
	for _, m := range wanted {
		known = append(known, &versions[m])
		sign[m]--
	}
	all := slices.Clone(wanted)
	for _, m := range released {
		if sign[m] == 0 { // others stay as they are: one is given back and one is taken
			known, all = append(known, nil), append(all, m)
		}
	}
	rows, err := pool.Query(b.Context(), `
		WITH held AS MATERIALIZED (
			SELECT m.id, m.version, w.version AS known FROM unnest($1::integer[], $2::bigint[]) AS w (id, version)
			JOIN machine m ON m.id = w.id ORDER BY m.id FOR UPDATE OF m),
		done AS (
			UPDATE machine m SET free = free - CASE WHEN held.known IS NULL THEN -1 ELSE 1 END, version = m.version + 1
			FROM held WHERE m.id = held.id AND (held.known IS NULL OR held.version = held.known) RETURNING m.id)
		SELECT id, version, version = known FROM held WHERE known IS NOT NULL`, all, known)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var m int
		var version int64
		var granted bool
		if err := rows.Scan(&m, &version, &granted); err != nil {
			return nil, err
		}
		if versions[m] = version; granted {
			versions[m]++
		} else {
			refused = append(refused, m)
		}
	}
	return refused, rows.Err()
}

// serverTime returns the CPU time that the processes of a server have spent.
func serverTime(b *testing.B, dsn string) time.Duration {
	b.Helper()
	dir := strings.TrimPrefix(strings.Fields(dsn)[0], "host=")
	lock, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	require.NoError(b, err)
	server, _, _ := strings.Cut(string(lock), "\n")
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(b, err)
	ticks := 0
	for _, path := range all {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended
		}
		line := string(data)
		fields := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
		times := fields[11:13]
		if filepath.Base(filepath.Dir(path)) == server {
			times = fields[11:15] // and those of children that have ended
		} else if fields[1] != server {
			continue
		}
		for _, field := range times {
			n, err := strconv.Atoi(field)
			require.NoError(b, err)
			ticks += n
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond // USER_HZ is 100
}
