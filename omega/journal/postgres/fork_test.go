package postgres_test

import (
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/servertest"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/postgres"
)

// An older copy of the database takes over. A process that knows of more says so and leaves nothing
// there, neither an entry nor a checkpoint, so the others go on. The subtests share a server.
func TestStore_LeavesAnOlderCopyAlone(t *testing.T) {
	t.Parallel()
	pool := connect(t, servertest.Postgres(t))
	for name, ahead := range map[string]func(t *testing.T, name string) *postgres.Store{
		"after a walk": func(t *testing.T, name string) *postgres.Store {
			t.Helper()
			store := open(t, pool, name)
			walk(t, store, 10)
			return store
		},
		"after an append": func(t *testing.T, name string) *postgres.Store {
			t.Helper()
			store := open(t, pool, name)
			require.NoError(t, store.Append(t.Context(), []byte("entry")))
			return store
		},
	} {
		for gone, others := range map[string]int{"and the entries end": 0, "and others went on": 9} {
			t.Run(name+" "+gone, func(t *testing.T) {
				fresh := open(t, pool, t.Name())
				appendTo(t, fresh, 10)
				store := ahead(t, t.Name())
				older(t, pool, t.Name(), 7)
				fresh = open(t, pool, t.Name())
				appendTo(t, fresh, others)
				for range 2 { // the first try leaves nothing, so neither does the second
					require.ErrorIs(t, store.Append(t.Context(), []byte("entry")), journal.ErrForked)
					require.ErrorIs(t, store.Replace(t.Context(), 6, nothing), journal.ErrForked)
					require.ErrorIs(t, last1(store.Read(t.Context(), 7)), journal.ErrForked)
				}
				store.Keep(0)
				store.Trim(t.Context(), 6) // of a checkpoint that the older copy lacks
				at, _, err := fresh.Checkpoint(t.Context())
				require.NoError(t, err)
				require.Zero(t, at)
				walk(t, fresh, 7+others)
				require.NoError(t, fresh.Append(t.Context(), []byte("entry")))
			})
		}
	}
	t.Run("and a cell ends", func(t *testing.T) {
		cell, err := journal.Open(t.Context(), open(t, pool, "cell"), journal.Config{First: omega.Config{Machines: []omega.Machine{{Name: "m"}}}})
		require.NoError(t, err)
		for _, name := range []string{"a", "b", "c"} {
			_, err = cell.Take(t.Context(), name, omega.Limits{})
			require.NoError(t, err)
		}
		older(t, pool, "cell", 2)
		_, err = cell.Take(t.Context(), "d", omega.Limits{})
		require.ErrorIs(t, err, journal.ErrForked)
		require.ErrorIs(t, cell.Close(t.Context()), journal.ErrForked)
		again, err := journal.Open(t.Context(), open(t, pool, "cell"), journal.Config{})
		require.NoError(t, err)
		_, err = again.Take(t.Context(), "e", omega.Limits{})
		require.NoError(t, err)
		require.NoError(t, again.Close(t.Context()))
	})
}

// older makes a journal what an older copy has of it: the first n entries.
func older(t *testing.T, pool *pgxpool.Pool, name string, n int) {
	t.Helper()
	query(t, pool, "DELETE FROM cellsched_entry WHERE n > $2 AND journal = (SELECT id FROM cellsched_journal WHERE name = $1)", name, n)
	query(t, pool, "UPDATE cellsched_journal SET n = $2 WHERE name = $1", name, n)
}

func appendTo(t *testing.T, store journal.Store, n int) {
	t.Helper()
	for range n {
		require.NoError(t, store.Append(t.Context(), []byte("entry")))
	}
}

// walk walks over all entries of a store, of which there are n.
func walk(t *testing.T, store journal.Store, n int) {
	t.Helper()
	for e, err := range store.Read(t.Context(), 0) {
		require.NoError(t, err)
		if e.Data == nil {
			require.Equal(t, journal.Position(n), e.At)
			return
		}
	}
	require.NoError(t, io.EOF)
}
