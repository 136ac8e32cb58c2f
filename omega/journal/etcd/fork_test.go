package etcd_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/etcd"
)

// An older copy of the store takes over. A process that knows of more says so and leaves nothing
// there, neither an entry nor a checkpoint, so the others go on. The subtests share a server.
func TestStore_LeavesAnOlderCopyAlone(t *testing.T) {
	client := connect(t, cluster(t, 1).endpoints)
	for name, ahead := range map[string]func(t *testing.T, name string) *etcd.Store{
		"after a walk": func(t *testing.T, name string) *etcd.Store {
			t.Helper()
			store := open(t, client, name)
			walk(t, store, 10)
			return store
		},
		"after an append": func(t *testing.T, name string) *etcd.Store {
			t.Helper()
			store := open(t, client, name)
			appendTo(t, store, 1)
			return store
		},
	} {
		for gone, others := range map[string]int{"and the entries end": 0, "and others went on": 9} {
			t.Run(name+" "+gone, func(t *testing.T) {
				fresh := open(t, client, t.Name())
				appendTo(t, fresh, 10)
				store := ahead(t, t.Name())
				older(t, client, t.Name(), 7)
				fresh = open(t, client, t.Name())
				appendTo(t, fresh, others)
				for range 2 { // the first try leaves nothing, so neither does the second
					require.ErrorIs(t, store.Append(t.Context(), []byte("entry")), journal.ErrForked)
					require.ErrorIs(t, store.Replace(t.Context(), 6, nothing), journal.ErrForked)
					require.ErrorIs(t, first(store.Read(t.Context(), 7)), journal.ErrForked)
				}
				at, _, err := fresh.Checkpoint(t.Context())
				require.NoError(t, err)
				require.Zero(t, at)
				walk(t, fresh, 7+others)
				appendTo(t, fresh, 1)
			})
		}
	}
	t.Run("and a cell ends", func(t *testing.T) {
		cell, err := journal.Open(t.Context(), open(t, client, "cell"), journal.Config{First: omega.Config{Machines: []omega.Machine{{Name: "m"}}}})
		require.NoError(t, err)
		for _, name := range []string{"a", "b", "c"} {
			_, err = cell.Take(t.Context(), name, omega.Limits{})
			require.NoError(t, err)
		}
		older(t, client, "cell", 2)
		_, err = cell.Take(t.Context(), "d", omega.Limits{})
		require.ErrorIs(t, err, journal.ErrForked)
		require.ErrorIs(t, cell.Close(t.Context()), journal.ErrForked)
		again, err := journal.Open(t.Context(), open(t, client, "cell"), journal.Config{})
		require.NoError(t, err)
		_, err = again.Take(t.Context(), "e", omega.Limits{})
		require.NoError(t, err)
		require.NoError(t, again.Close(t.Context()))
	})
	t.Run("and a walk waits for an entry that was added", func(t *testing.T) {
		store := open(t, client, "lost")
		appendTo(t, store, 3)
		for e, err := range store.Read(t.Context(), 0) {
			if err != nil {
				require.ErrorIs(t, err, journal.ErrForked)
				return
			}
			if e.Data == nil {
				store.Lose(4) // as if the fourth had been added to what an older copy lacks
			}
		}
	})
	t.Run("and a trim keeps what it needs", func(t *testing.T) {
		store := open(t, client, "needed")
		appendTo(t, store, 10)
		require.NoError(t, store.Replace(t.Context(), 5, nothing))
		store.Trim(t.Context(), 8, clientv3.Compare(clientv3.Value("needed/checkpoint"), "=", "another"))
		walk(t, open(t, client, "needed"), 10)
	})
}

// older makes a journal what an older copy has of it: the first n entries.
func older(t *testing.T, client *clientv3.Client, prefix string, n int) {
	t.Helper()
	all, err := client.Get(t.Context(), prefix+"/log/entry/", clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByModRevision, clientv3.SortAscend))
	require.NoError(t, err)
	for _, kv := range all.Kvs[n:] {
		_, err := client.Delete(t.Context(), string(kv.Key))
		require.NoError(t, err)
	}
	_, err = client.Delete(t.Context(), prefix+"/log/head")
	require.NoError(t, err)
	for range n {
		_, err := client.Put(t.Context(), prefix+"/log/head", "")
		require.NoError(t, err)
	}
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
	at := journal.Position(0)
	for e, err := range store.Read(t.Context(), 0) {
		require.NoError(t, err)
		if at = e.At; e.Data == nil {
			break
		}
	}
	require.Equal(t, journal.Position(n), at)
}
