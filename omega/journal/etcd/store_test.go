package etcd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/etcd"
	"github.com/cellsched/cellsched/omega/journal/journaltest"
	"github.com/cellsched/cellsched/resources"
)

func connect(tb testing.TB, endpoints []string) *clientv3.Client {
	tb.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop(), DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: time.Second})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

func open(tb testing.TB, client *clientv3.Client, prefix string) *etcd.Store {
	tb.Helper()
	store, err := etcd.Open(tb.Context(), client, prefix)
	require.NoError(tb, err)
	return store
}

func nothing(io.Writer) error { return nil }

func TestStore_IsAStore(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint("members=", n), func(t *testing.T) {
			m := cluster(t, n)
			journaltest.Run(t, func(t *testing.T) func() journal.Store {
				t.Helper()
				return func() journal.Store { return open(t, connect(t, m.endpoints), t.Name()) }
			})
		})
	}
}

func TestOpen_RefusesBadInput(t *testing.T) {
	client := connect(t, []string{"127.0.0.1:1"})
	_, err := etcd.Open(nil, client, "cell") //nolint:staticcheck // a nil context is refused
	require.ErrorIs(t, err, resources.ErrNil)
	_, err = etcd.Open(t.Context(), nil, "cell")
	require.ErrorIs(t, err, resources.ErrNil)
	_, err = etcd.Open(t.Context(), client, "")
	require.ErrorContains(t, err, "want a prefix")
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	_, err = etcd.Open(ctx, client, "cell")
	require.ErrorIs(t, err, gone)
}

var packages = regexp.MustCompile(`\b(etcd|journal|omega): `)

// What etcd does to a journal reaches its user as one of the journal's errors, or does not at all.
func TestStore_Tells(t *testing.T) {
	m := cluster(t, 1)
	client := connect(t, m.endpoints)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	failure := func(t *testing.T, err error, want error, says string) {
		t.Helper()
		require.ErrorIs(t, err, want)
		require.ErrorContains(t, err, says)
		require.Len(t, packages.FindAllString(err.Error(), -1), 1, err.Error())
		require.Regexp(t, "^etcd: ", err.Error())
	}
	// last walks to the first error. It does something once, at a position.
	last := func(store journal.Store, after, at journal.Position, do func()) (err error) {
		for e, err := range store.Read(ctx, after) {
			if err != nil {
				return err
			}
			if e.Data == nil && e.At == at && do != nil {
				do()
				do = nil
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
	// lose makes the journal one without its last three entries, as a restored copy has it.
	lose := func(prefix string, more int) {
		_, err := client.Delete(ctx, prefix+"/log/", clientv3.WithPrefix())
		require.NoError(t, err)
		fill(open(t, client, prefix), 7+more)
	}

	t.Run("that an older copy took over", func(t *testing.T) {
		store := open(t, client, "older")
		fill(store, 10)
		failure(t, last(store, 0, 10, func() { lose("older", 0) }), journal.ErrForked, "entry 1 was put again")
		failure(t, last(store, 10, 0, nil), journal.ErrForked, "entries end at position 7, want 10")
		failure(t, store.Replace(ctx, 9, nothing), journal.ErrForked, "entries end at position 7")
	})
	t.Run("that revisions went back", func(t *testing.T) {
		store := open(t, client, "back")
		fill(store, 1)
		store.See(1 << 40)
		failure(t, store.Append(ctx, []byte("entry")), journal.ErrForked, "behind revision")
		failure(t, last(store, 0, 0, nil), journal.ErrForked, "behind revision")
		_, _, err := store.Checkpoint(ctx)
		failure(t, err, journal.ErrForked, "behind revision")
	})
	t.Run("that entries were trimmed", func(t *testing.T) {
		store := open(t, client, "trimmed")
		fill(store, 210)
		require.NoError(t, store.Replace(ctx, 205, nothing))
		require.NoError(t, first(store.Read(ctx, 0)), "there was no checkpoint before")
		require.NoError(t, store.Replace(ctx, 208, nothing))
		failure(t, last(store, 0, 0, nil), journal.ErrTrimmed, "entry 1, the first is 205")
		require.NoError(t, first(store.Read(ctx, 205)))
		require.NoError(t, store.Replace(ctx, 210, nothing))
		failure(t, last(store, 207, 0, nil), journal.ErrTrimmed, "entry 207, the first is 208")
		require.NoError(t, store.Append(ctx, []byte("more")))
		require.NoError(t, first(store.Read(ctx, 210)))
	})
	t.Run("nothing of a compaction", func(t *testing.T) {
		store, n := open(t, client, "compacted"), 0
		fill(store, 10)
		for e, err := range store.Read(ctx, 0) {
			require.NoError(t, err)
			if e.Data != nil {
				if n++; n == 40 {
					break
				}
				continue
			}
			fill(store, 15)
			answer, err := client.Get(ctx, "x")
			require.NoError(t, err)
			_, err = client.Compact(ctx, answer.Header.Revision)
			require.NoError(t, err)
		}
		require.Equal(t, 40, n)
	})
	t.Run("that an entry is too large", func(t *testing.T) {
		failure(t, open(t, client, "large").Append(ctx, make([]byte, 1<<20+1)), journal.ErrFailed, "entry of 1048577 bytes")
	})
	t.Run("that the client was closed", func(t *testing.T) {
		closed := connect(t, m.endpoints)
		store := open(t, closed, "closed")
		require.NoError(t, closed.Close())
		failure(t, store.Append(ctx, []byte("entry")), journal.ErrFailed, "client is closed")
		failure(t, last(store, 0, 0, nil), journal.ErrFailed, "client is closed")
	})
	t.Run("nothing of a checkpoint that is replaced", func(t *testing.T) {
		store := open(t, client, "replaced")
		fill(store, 9)
		want := bytes.Repeat([]byte("checkpoint"), 300<<10)
		require.NoError(t, store.Replace(ctx, 3, func(w io.Writer) error {
			_, err := w.Write(want)
			return err
		}))
		at, r, err := store.Checkpoint(ctx)
		require.NoError(t, err)
		require.Equal(t, journal.Position(3), at)
		for i := range journal.Position(3) {
			require.NoError(t, store.Replace(ctx, 4+i, nothing))
		}
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got))
		answer, err := client.Get(ctx, "replaced/checkpoint/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		require.NoError(t, err)
		require.Zero(t, answer.Count, "parts of earlier checkpoints")
	})
}

// first returns the error of the first pair of a walk.
func first(walk func(func(journal.Entry, error) bool)) error {
	for _, err := range walk {
		return err
	}
	return io.EOF
}
