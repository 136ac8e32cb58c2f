package postgres_test

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/servertest"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/postgres"
)

func TestStore_KeepsCheckpoints(t *testing.T) {
	t.Parallel()
	dsn := servertest.Postgres(t)
	t.Run("but not one that was cut short", func(t *testing.T) { dropsWhatWasCutShort(t, dsn) })
	t.Run("while they are replaced", func(t *testing.T) { readsWhatIsReplaced(t, dsn) })
	t.Run("and no entry behind one that it keeps", func(t *testing.T) { trimsWithoutGap(t, dsn) })
	t.Run("though a standby is late", func(t *testing.T) { waitsForStandby(t, dsn) })
	t.Run("of one of many that write it", func(t *testing.T) { takesFromMany(t, dsn) })
}

// Checkpoints of many parts come back while they are replaced, and connections go back to
// their pool.
func readsWhatIsReplaced(t *testing.T, dsn string) {
	t.Helper()
	pool := connect(t, dsn+" pool_max_conns=3")
	store := open(t, pool, "replaced")
	part := make([]byte, 700<<10)
	save := func(fill byte) func(w io.Writer) error {
		return func(w io.Writer) error {
			for i := range part {
				part[i] = fill
			}
			for range 5 {
				if _, err := w.Write(part); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for range 9 {
		require.NoError(t, store.Append(t.Context(), []byte("entry")))
	}
	require.NoError(t, store.Replace(t.Context(), 1, save(1)))
	at, r, err := store.Checkpoint(t.Context())
	require.NoError(t, err)
	require.Equal(t, journal.Position(1), at)
	for i := range byte(3) {
		require.NoError(t, store.Replace(t.Context(), journal.Position(2+i), save(2+i)))
	}
	got, err := io.ReadAll(r)
	require.NoError(t, err)
	require.True(t, bytes.Equal(bytes.Repeat([]byte{1}, 5*len(part)), got))
	require.NoError(t, r.Close())
	for range 4 {
		_, r, err := store.Checkpoint(t.Context())
		require.NoError(t, err)
		require.NoError(t, r.Close())
	}
	require.Zero(t, pool.Stat().AcquiredConns())
}

// Of two that write a checkpoint at one position, one writes it, and both succeed.
func takesFromMany(t *testing.T, dsn string) {
	t.Helper()
	store := open(t, connect(t, dsn), "many")
	require.NoError(t, store.Append(t.Context(), []byte("entry")))
	var both, replacing sync.WaitGroup
	both.Add(2)
	for i := range 2 {
		replacing.Go(func() {
			err := store.Replace(t.Context(), 1, func(w io.Writer) error {
				both.Done()
				both.Wait()
				_, err := fmt.Fprint(w, i)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	replacing.Wait()
	at, r, err := store.Checkpoint(t.Context())
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.Equal(t, journal.Position(1), at)
	require.Len(t, text, 1)
}

// A checkpoint that is cut short leaves no part of it.
func dropsWhatWasCutShort(t *testing.T, dsn string) {
	t.Helper()
	pool := connect(t, dsn)
	store := open(t, pool, "cut short")
	require.NoError(t, store.Append(t.Context(), []byte("entry")))
	err := store.Replace(t.Context(), 1, func(w io.Writer) error {
		if _, err := w.Write(make([]byte, 3<<20)); err != nil {
			return err
		}
		_, err := pool.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'")
		return err
	})
	require.Error(t, err)
	n := 0
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM cellsched_checkpoint").Scan(&n))
	require.Zero(t, n)
	require.NoError(t, store.Replace(t.Context(), 1, nothing))
	_, r, err := store.Checkpoint(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Close())
}

// A trim deletes no entry behind one that it keeps.
func trimsWithoutGap(t *testing.T, dsn string) {
	t.Helper()
	pool := connect(t, dsn)
	store := open(t, pool, "clock")
	for range 9 {
		require.NoError(t, store.Append(t.Context(), []byte("entry")))
	}
	query(t, pool, `
		UPDATE cellsched_entry SET made = now() - interval '1 hour'
		WHERE n <> 4 AND journal = (SELECT id FROM cellsched_journal WHERE name = 'clock')`)
	require.NoError(t, store.Replace(t.Context(), 8, nothing))
	at := journal.Position(4)
	require.ErrorIs(t, last1(store.Read(t.Context(), 0)), journal.ErrTrimmed)
	for e, err := range store.Read(t.Context(), at) {
		require.NoError(t, err)
		if e.Data == nil {
			break
		}
		at++
		require.Equal(t, at, e.At)
	}
	require.Equal(t, journal.Position(9), at)
}

// A standby may not have all entries yet: that is no fork.
func waitsForStandby(t *testing.T, dsn string) {
	t.Helper()
	pool := connect(t, dsn)
	open(t, pool, "standby")
	query(t, pool, "CREATE SCHEMA standby")
	query(t, pool, "CREATE FUNCTION standby.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true'")
	store, err := postgres.Open(t.Context(), connect(t, dsn+" options='-c search_path=standby,pg_catalog,public'"), "standby")
	require.NoError(t, err)
	require.NoError(t, store.Append(t.Context(), []byte("entry")))
	for _, err := range []error{last1(store.Read(t.Context(), 2)), store.Replace(t.Context(), 2, nothing)} {
		require.ErrorContains(t, err, "on a standby, want the primary")
		require.NotErrorIs(t, err, journal.ErrForked)
	}
}
