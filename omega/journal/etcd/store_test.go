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
	"go.etcd.io/etcd/server/v3/embed"
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

// A server that takes smaller requests refuses an entry, too, and the next one is kept.
func TestAppend_RefusesWhatTheServerDoesNotTake(t *testing.T) {
	m := cluster(t, 1, func(cfg *embed.Config) { cfg.MaxRequestBytes = 64 << 10 })
	store := open(t, connect(t, m.endpoints), "small")
	err := store.Append(t.Context(), make([]byte, 70<<10))
	require.ErrorIs(t, err, journal.ErrSize)
	require.ErrorContains(t, err, "max-request-bytes")
	require.NoError(t, store.Append(t.Context(), make([]byte, 60<<10)))
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
		failure(t, open(t, client, "large").Append(ctx, make([]byte, 1<<20+1)), journal.ErrSize, "entry of 1048577 bytes")
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
		require.Equal(t, int64(1), answer.Count, "parts of earlier checkpoints")
	})
	t.Run("nothing of a checkpoint with an unknown outcome", func(t *testing.T) {
		other := connect(t, m.endpoints)
		kv := &forgetful{KV: other.KV}
		other.KV = kv
		store := open(t, other, "unknown")
		fill(store, 9)
		want := bytes.Repeat([]byte("checkpoint"), 100<<10)
		write := func(w io.Writer) error {
			_, err := w.Write(want)
			return err
		}
		kv.forgets = true
		require.ErrorIs(t, store.Replace(ctx, 3, write), errForgotten)
		kv.forgets = false
		at, r, err := store.Checkpoint(ctx)
		require.NoError(t, err)
		require.Equal(t, journal.Position(3), at)
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got))
		require.NoError(t, store.Replace(ctx, 3, write))
		require.NoError(t, store.Replace(ctx, 4, nothing))
		answer, err := client.Get(ctx, "unknown/checkpoint/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		require.NoError(t, err)
		require.Equal(t, int64(1), answer.Count, "parts of earlier checkpoints")
	})
	t.Run("that parts of a checkpoint are gone", func(t *testing.T) {
		store := open(t, client, "gone")
		fill(store, 9)
		drop := func(key string) {
			_, err := client.Delete(ctx, key, clientv3.WithPrefix())
			require.NoError(t, err)
		}
		write := func(w io.Writer) error {
			_, err := w.Write(make([]byte, 3<<19))
			return err
		}
		require.ErrorContains(t, store.Replace(ctx, 3, func(w io.Writer) error {
			if err := write(w); err != nil {
				return err
			}
			drop("gone/checkpoint/")
			return nil
		}), "were deleted as it was written")
		at, _, err := store.Checkpoint(ctx)
		require.NoError(t, err)
		require.Zero(t, at)
		require.NoError(t, store.Replace(ctx, 3, write))
		answer, err := client.Get(ctx, "gone/checkpoint/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
		require.NoError(t, err)
		require.Len(t, answer.Kvs, 3)
		drop(string(answer.Kvs[2].Key))
		_, r, err := store.Checkpoint(ctx)
		require.NoError(t, err)
		_, err = io.ReadAll(r)
		failure(t, err, journal.ErrDamaged, "other parts")
	})
}

var errForgotten = errors.New("answer is lost")

// forgetful is a client that loses the answers of transactions.
type forgetful struct {
	clientv3.KV
	forgets bool
}

func (f *forgetful) Txn(ctx context.Context) clientv3.Txn { return &forgetfulTxn{f.KV.Txn(ctx), f} }

type forgetfulTxn struct {
	clientv3.Txn
	kv *forgetful
}

func (x *forgetfulTxn) If(cs ...clientv3.Cmp) clientv3.Txn {
	x.Txn = x.Txn.If(cs...)
	return x
}

func (x *forgetfulTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	x.Txn = x.Txn.Then(ops...)
	return x
}

func (x *forgetfulTxn) Else(ops ...clientv3.Op) clientv3.Txn {
	x.Txn = x.Txn.Else(ops...)
	return x
}

func (x *forgetfulTxn) Commit() (*clientv3.TxnResponse, error) {
	answer, err := x.Txn.Commit()
	if err == nil && x.kv.forgets {
		return nil, errForgotten
	}
	return answer, err
}

// first returns the error of the first pair of a walk.
func first(walk func(func(journal.Entry, error) bool)) error {
	for _, err := range walk {
		return err
	}
	return io.EOF
}
