package postgres_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/servertest"
)

// The subtests share a server.
func TestStore_IsNotHeldUp(t *testing.T) {
	t.Parallel()
	dsn := servertest.Postgres(t)
	t.Run("by a statement that waits, and does not cancel it", func(t *testing.T) { leavesStatements(t, dsn) })
	t.Run("by a server that is silent", func(t *testing.T) { leavesSilentServers(t, dsn) })
}

// A statement that gets no lock in time ends by itself, and its connection stays. After the end
// of its context it is left to the server, which still adds its entry. Its connection is not used again.
func leavesStatements(t *testing.T, dsn string) {
	t.Helper()
	pool, mine := connect(t, dsn), connect(t, dsn)
	store := open(t, mine, "locked")
	connections := mine.Stat().NewConnsCount()
	store.Wait(20 * time.Millisecond)
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "UPDATE cellsched_journal SET n = n WHERE name = 'locked'")
	require.NoError(t, err)
	waiting := func(want int) {
		t.Helper()
		for n := -1; n != want; {
			require.NoError(t, pool.QueryRow(t.Context(), `
				SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%cellsched_append($1%'`).Scan(&n))
		}
	}
	require.Error(t, store.Append(t.Context(), []byte("not added")))
	waiting(0)
	store.Wait(time.Minute)
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	appended := make(chan error, 1)
	go func() { appended <- store.Append(ctx, []byte("given up")) }()
	waiting(1)
	cancel(gone)
	require.ErrorIs(t, <-appended, gone)
	waiting(1)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, store.Append(t.Context(), []byte("last")))
	require.Greater(t, mine.Stat().NewConnsCount(), connections)
	var all []string
	for e, err := range store.Read(t.Context(), 0) {
		require.NoError(t, err)
		if e.Data == nil {
			break
		}
		all = append(all, string(e.Data))
	}
	require.Equal(t, []string{"given up", "last"}, all)
}

// silent is a connection that loses all that is sent while it is cut.
type silent struct {
	net.Conn
	cut *atomic.Bool
}

func (c *silent) Write(b []byte) (int, error) {
	if c.cut.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// Each call returns although nothing answers, and the next one takes another connection.
func leavesSilentServers(t *testing.T, dsn string) {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(dsn)
	require.NoError(t, err)
	cfg.MaxConns = 2
	cfg.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false } // which is pgx's
	dial, cut := cfg.ConnConfig.DialFunc, new(atomic.Bool)
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return &silent{conn, cut}, err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer pool.Close()
	store := open(t, pool, "silent")
	for name, call := range map[string]func() error{
		"append":     func() error { return store.Append(t.Context(), []byte("entry")) },
		"read":       func() error { return last1(store.Read(t.Context(), 0)) },
		"checkpoint": func() error { _, _, err := store.Checkpoint(t.Context()); return err },
		"replace":    func() error { return store.Replace(t.Context(), 1, nothing) },
	} {
		require.NoError(t, pool.Ping(t.Context())) // there is a connection
		store.Wait(20 * time.Millisecond)
		cut.Store(true)
		require.Error(t, call(), name)
		cut.Store(false)
		store.Wait(time.Minute)
		require.NoError(t, store.Append(t.Context(), []byte("entry")), name)
	}
	require.Zero(t, pool.Stat().AcquiredConns())
}
