package postgres_test

import (
	"sync"
	"testing"
	"time"

	"github.com/cellsched/cellsched/internal/servertest"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/journaltest"
	"github.com/cellsched/cellsched/omega/journal/postgres"
)

// Four processes share a cell while the database ends their connections again and again.
func TestStore_IsShared(t *testing.T) {
	t.Parallel()
	dsn := servertest.Postgres(t)
	ended := make(chan struct{})
	var breaking sync.WaitGroup
	breaking.Go(func() { breakConnections(t, dsn, ended) })
	defer breaking.Wait()
	defer close(ended)
	journaltest.Share(t, 10<<10, func() journal.Store {
		pool := connect(t, dsn)
		for {
			store, err := postgres.Open(t.Context(), pool, "cell")
			if err == nil {
				return store
			}
			if t.Context().Err() != nil {
				t.Fatal(err)
			}
		}
	})
}

// breakConnections ends connections of others until told to end.
func breakConnections(t *testing.T, dsn string, ended <-chan struct{}) {
	t.Helper()
	pool := connect(t, dsn)
	for {
		select {
		case <-ended:
			return
		case <-time.After(30 * time.Millisecond):
		}
		_, err := pool.Exec(t.Context(), `
			SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 2`)
		if err != nil {
			t.Error(err)
			return
		}
	}
}
