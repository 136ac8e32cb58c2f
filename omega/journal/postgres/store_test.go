package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/servertest"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/journaltest"
	"github.com/cellsched/cellsched/omega/journal/postgres"
	"github.com/cellsched/cellsched/resources"
)

// connect returns a pool of connections that is closed with the test.
func connect(tb testing.TB, dsn string) *pgxpool.Pool {
	tb.Helper()
	pool, err := pgxpool.New(tb.Context(), dsn)
	require.NoError(tb, err)
	tb.Cleanup(pool.Close)
	return pool
}

func open(tb testing.TB, pool *pgxpool.Pool, name string) *postgres.Store {
	tb.Helper()
	store, err := postgres.Open(tb.Context(), pool, name)
	require.NoError(tb, err)
	return store
}

func query(tb testing.TB, pool *pgxpool.Pool, sql string, args ...any) {
	tb.Helper()
	_, err := pool.Exec(tb.Context(), sql, args...)
	require.NoError(tb, err)
}

func entries(tb testing.TB, pool *pgxpool.Pool) (n int) {
	tb.Helper()
	require.NoError(tb, pool.QueryRow(tb.Context(), "SELECT count(*) FROM cellsched_entry").Scan(&n))
	return n
}

func nothing(io.Writer) error { return nil }

// The mode of execution of the pool does not matter, nor how few connections it has.
func TestStore_IsAStore(t *testing.T) {
	t.Parallel()
	dsn := servertest.Postgres(t)
	for _, mode := range []string{"cache_statement", "exec", "simple_protocol&pool_max_conns=2"} {
		t.Run(mode, func(t *testing.T) {
			suite(t, dsn+" default_query_exec_mode="+regexp.MustCompile("&").ReplaceAllString(mode, " "))
		})
	}
}

// suite runs the conformance suite. Each store is a process's: it has a pool of its own.
func suite(t *testing.T, dsn string) {
	t.Helper()
	journaltest.Run(t, func(t *testing.T) func() journal.Store {
		t.Helper()
		return func() journal.Store { return open(t, connect(t, dsn), t.Name()) }
	})
}

// A pooler gives each transaction any of its servers.
func TestStore_WorksThroughAPooler(t *testing.T) {
	t.Parallel()
	suite(t, servertest.Pooler(t, servertest.Postgres(t)))
}

func TestOpen_RefusesBadInput(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), "host=/nowhere")
	require.NoError(t, err)
	defer pool.Close()
	_, err = postgres.Open(nil, pool, "cell") //nolint:staticcheck // a nil context is refused
	require.ErrorIs(t, err, resources.ErrNil)
	_, err = postgres.Open(t.Context(), nil, "cell")
	require.ErrorIs(t, err, resources.ErrNil)
	for _, name := range []string{"", "a\x00b", "\xff"} {
		_, err = postgres.Open(t.Context(), pool, name)
		require.ErrorContains(t, err, "want a name")
	}
	_, err = postgres.Open(t.Context(), pool, "cell")
	require.ErrorContains(t, err, `postgres: journal "cell": `)
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	_, err = postgres.Open(ctx, pool, "cell")
	require.ErrorIs(t, err, gone)
}

var packages = regexp.MustCompile(`\b(postgres|journal|omega): `)

// What the database does to a journal reaches its user as one of the journal's errors. The
// subtests share a server and run in order.
func TestStore_Tells(t *testing.T) {
	t.Parallel()
	dsn := servertest.Postgres(t)
	pool := connect(t, dsn)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	failure := func(t *testing.T, err error, want error, says string) {
		t.Helper()
		require.ErrorIs(t, err, want)
		require.ErrorContains(t, err, says)
		require.Len(t, packages.FindAllString(err.Error(), -1), 1, err.Error())
		require.Regexp(t, "^postgres: ", err.Error())
	}
	last := func(store journal.Store, after journal.Position, at journal.Position, do func()) (err error) {
		for e, err := range store.Read(ctx, after) {
			if err != nil {
				return err
			}
			if e.Data == nil && e.At == at {
				do()
			}
		}
		return nil
	}
	fill := func(store journal.Store, n int) {
		t.Helper()
		for i := range n {
			require.NoError(t, store.Append(ctx, fmt.Append(nil, i)))
		}
	}

	t.Run("that many open it at once", func(t *testing.T) {
		var opening sync.WaitGroup
		for range 8 {
			opening.Go(func() {
				store, err := postgres.Open(ctx, pool, "at once")
				if err == nil {
					err = store.Append(ctx, []byte("entry"))
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		opening.Wait()
		require.Equal(t, 8, entries(t, pool))
	})
	t.Run("that commits are not durable", func(t *testing.T) {
		_, err := postgres.Open(ctx, connect(t, dsn+" options='-c synchronous_commit=off'"), "loose")
		require.ErrorContains(t, err, "synchronous_commit is off")
	})
	t.Run("that an older copy took over", func(t *testing.T) {
		store := open(t, pool, "older")
		fill(store, 10)
		failure(t, last(store, 0, 10, func() {
			query(t, pool, "DELETE FROM cellsched_entry WHERE n > 7 AND journal = (SELECT id FROM cellsched_journal WHERE name = 'older')")
			query(t, pool, "UPDATE cellsched_journal SET n = 7 WHERE name = 'older'")
		}), journal.ErrForked, "entries end before position 10")
		failure(t, store.Replace(ctx, 9, nothing), journal.ErrForked, "entries end before position 9")
	})
	t.Run("that an older copy has grown since", func(t *testing.T) {
		store := open(t, pool, "grown")
		fill(store, 10)
		failure(t, last(store, 0, 10, func() {
			query(t, pool, "DELETE FROM cellsched_entry WHERE n > 7 AND journal = (SELECT id FROM cellsched_journal WHERE name = 'grown')")
			query(t, pool, "UPDATE cellsched_journal SET n = 7 WHERE name = 'grown'")
			fill(open(t, pool, "grown"), 10)
		}), journal.ErrForked, "entry 10 is another one")
	})
	t.Run("that entries were trimmed", func(t *testing.T) {
		store := open(t, pool, "trimmed")
		fill(store, 10)
		require.NoError(t, store.Replace(ctx, 5, nothing))
		require.NoError(t, last1(store.Read(ctx, 0)), "entries of the last minute stay")
		store.Keep(0)
		require.NoError(t, store.Replace(ctx, 8, nothing))
		failure(t, last(store, 0, 0, nil), journal.ErrTrimmed, "entry 1, the first is 8")
		failure(t, last(store, 6, 0, nil), journal.ErrTrimmed, "entry 6, the first is 8")
		require.NoError(t, last1(store.Read(ctx, 8)))
		require.NoError(t, store.Replace(ctx, 10, nothing))
		require.NoError(t, store.Append(ctx, []byte("more")))
		require.NoError(t, last1(store.Read(ctx, 10)), "the whole journal was trimmed once")
	})
	t.Run("that an entry is gone from the middle", func(t *testing.T) {
		store := open(t, pool, "middle")
		fill(store, 10)
		query(t, pool, "DELETE FROM cellsched_entry WHERE n = 5 AND journal = (SELECT id FROM cellsched_journal WHERE name = 'middle')")
		failure(t, last(store, 0, 0, nil), journal.ErrDamaged, "entry 6 behind entry 4")
	})
	t.Run("that an entry has no size to keep", func(t *testing.T) {
		failure(t, open(t, pool, "size").Append(ctx, nil), journal.ErrSize, "entry of 0 bytes")
	})
	t.Run("that its row was deleted", func(t *testing.T) {
		store := open(t, pool, "deleted")
		fill(store, 1)
		query(t, pool, "DELETE FROM cellsched_journal WHERE name = 'deleted'")
		failure(t, store.Append(ctx, []byte("entry")), journal.ErrFailed, "was deleted")
	})
	t.Run("that the pool was closed", func(t *testing.T) {
		closed, err := pgxpool.New(ctx, dsn)
		require.NoError(t, err)
		store := open(t, closed, "closed")
		closed.Close()
		failure(t, store.Append(ctx, []byte("entry")), journal.ErrFailed, "closed pool")
		failure(t, last(store, 0, 0, nil), journal.ErrFailed, "closed pool")
		_, _, err = store.Checkpoint(ctx)
		failure(t, err, journal.ErrFailed, "closed pool")
		failure(t, store.Replace(ctx, 1, nothing), journal.ErrFailed, "closed pool")
	})
	t.Run("that its tables were dropped", func(t *testing.T) {
		store := open(t, pool, "dropped")
		query(t, pool, "DROP TABLE cellsched_journal, cellsched_entry, cellsched_checkpoint")
		failure(t, store.Append(ctx, []byte("entry")), journal.ErrFailed, "does not exist")
		failure(t, last(store, 0, 0, nil), journal.ErrFailed, "does not exist")
	})
}

// last1 returns the error of the first pair of a walk.
func last1(walk func(func(journal.Entry, error) bool)) error {
	for _, err := range walk {
		return err
	}
	return io.EOF
}

func TestStore_OrdersWhatManyAppend(t *testing.T) {
	t.Parallel()
	dsn := servertest.Postgres(t)
	t.Run("and reads it", func(t *testing.T) { readsOthers(t, dsn) })
	t.Run("and shows none before another", func(t *testing.T) { hides(t, dsn) })
}

// A process sees what another one appends without being told, and its own at once.
func readsOthers(t *testing.T, dsn string) {
	t.Helper()
	one, other := open(t, connect(t, dsn), "cell"), open(t, connect(t, dsn), "cell")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	n := 0
	for e, err := range one.Read(ctx, 0) {
		require.NoError(t, err)
		if e.Data != nil {
			if n++; n == 20 {
				return
			}
			continue
		}
		if n%2 == 0 {
			require.NoError(t, one.Append(ctx, []byte("own")))
		} else {
			require.NoError(t, other.Append(ctx, []byte("other")))
		}
	}
}

// An entry is not visible before those of smaller positions.
func hides(t *testing.T, dsn string) {
	t.Helper()
	pool := connect(t, dsn)
	store := open(t, pool, "order")
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `WITH head AS (UPDATE cellsched_journal SET n = n + 1 WHERE name = 'order' RETURNING id, n)
		INSERT INTO cellsched_entry (journal, n, tag, data) SELECT id, n, 7, 'slow' FROM head`)
	require.NoError(t, err)
	appended := make(chan error, 1)
	go func() { appended <- store.Append(t.Context(), []byte("fast")) }()
	var waiting int
	for waiting == 0 {
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted").Scan(&waiting))
	}
	require.Empty(t, appended)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-appended)
	want := []string{"slow", "fast"}
	for e, err := range store.Read(t.Context(), 0) {
		require.NoError(t, err)
		if e.Data == nil {
			break
		}
		require.Equal(t, want[e.At-1], string(e.Data))
	}
}
