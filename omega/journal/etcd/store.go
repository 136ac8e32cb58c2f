package etcd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/resources"
)

// maxData bounds an entry: etcd takes 1.5 MiB a request, unless it is told otherwise.
const maxData = 1 << 20

// patience bounds an append: a member that does not answer must not hold it for ever. It is sent
// again then.
const patience = 3 * time.Second

// Store is a [journal.Store] in etcd. [Open] makes it.
type Store struct {
	client *clientv3.Client
	prefix string
	seen   atomic.Int64 // the latest revision of a linearizable answer: none is before it

	mu    sync.Mutex // guards what follows
	read  mark       // the last entry that a walk has found
	added mark       // the last entry that an Append has added
}

// mark is an entry that is known to be there. A store without its key has another history, or has trimmed
// it: histories that part before it have another key at its position, or none.
type mark struct {
	at  int64
	key string
}

// advance makes m the later one of two.
func (m *mark) advance(other mark) {
	if other.at > m.at {
		*m = other
	}
}

// there compares for a transaction that an entry is there.
func (m *mark) there() []clientv3.Cmp {
	if m.at == 0 {
		return nil
	}
	return []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(m.key), ">", 0)}
}

var _ journal.Store = (*Store)(nil)

// Open opens the journal of a prefix, which needs no preparation. The client stays its opener's.
// Errors: [resources.ErrNil]; an empty prefix; those of etcd; the cause of ctx.
func Open(ctx context.Context, client *clientv3.Client, prefix string) (*Store, error) {
	switch {
	case ctx == nil:
		return nil, fault.New("etcd", "context", resources.ErrNil)
	case client == nil:
		return nil, fault.New("etcd", "client", resources.ErrNil)
	case prefix == "":
		return nil, fmt.Errorf("etcd: journal %s: want a prefix", fault.Quote(prefix))
	}
	s := &Store{client: client, prefix: prefix}
	if _, err := s.head(ctx); err != nil {
		return nil, s.wrap(ctx, err)
	}
	return s, nil
}

func (s *Store) headKey() string     { return s.prefix + "/log/head" }
func (s *Store) entryPrefix() string { return s.prefix + "/log/entry/" }

// wrap names the journal in an error. It returns the cause of a context that has ended.
func (s *Store) wrap(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.client.Ctx().Err() != nil:
		err = fault.New("etcd", fault.Bare(journal.ErrFailed)+": client is closed", err, journal.ErrFailed)
	}
	return fault.Newf("etcd", err, "journal %s", fault.Quote(s.prefix))
}

// advance notes the revision of an answer to a call that began when seen was as given. etcd's
// revisions never fall: if one does, a copy with less was restored.
func (s *Store) advance(seen, revision int64) error {
	if revision < seen {
		return fmt.Errorf("%w: revision %d behind revision %d", journal.ErrForked, revision, seen)
	}
	for now := s.seen.Load(); now < revision; now = s.seen.Load() { // ends: seen only grows
		s.seen.CompareAndSwap(now, revision)
	}
	return nil
}

// marks returns the last entry that a walk has found, and the last that was added.
func (s *Store) marks() (read, added mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read, s.added
}

// latest returns the last entry that is known.
func (s *Store) latest() mark {
	m, added := s.marks()
	m.advance(added)
	return m
}

// lacks returns the error of a store that has no entry m where there was one.
func (s *Store) lacks(ctx context.Context, m mark) error {
	h, err := s.head(ctx)
	if err != nil {
		return err
	}
	keys, first, err := s.list(ctx, h)
	if err != nil {
		return err
	}
	if err := m.in(keys, first); err != nil {
		return err
	}
	return fmt.Errorf("entry %d was away a moment ago", m.at)
}

// in returns the error of a store that has other keys, from a position on, than one with m.
func (m *mark) in(keys []string, first int64) error {
	end := first + int64(len(keys)) - 1
	switch {
	case m.at > end:
		return fmt.Errorf("%w: entries end at position %d, want %d", journal.ErrForked, end, m.at)
	case m.at > 0 && m.at < first:
		return fmt.Errorf("%w: entry %d, the first is %d", journal.ErrTrimmed, m.at, first)
	case m.at > 0 && keys[m.at-first] != m.key:
		return fmt.Errorf("%w: entry %d is another one than it was", journal.ErrForked, m.at)
	}
	return nil
}

// Append implements [journal.Store]. The transaction is where an entry gets its position. It has no effect on a
// store without the last entry that this Store knows.
func (s *Store) Append(ctx context.Context, entry []byte) error {
	if len(entry) == 0 || len(entry) > maxData {
		return s.wrap(ctx, fmt.Errorf("%w: entry of %d bytes, want 1 to %d", journal.ErrSize, len(entry), maxData))
	}
	if err := s.client.Ctx().Err(); err != nil {
		return s.wrap(ctx, err) // the client would try for a while
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	seen, last, key := s.seen.Load(), s.latest(), s.entryPrefix()+rand.Text()
	answer, err := s.client.Txn(limited).If(last.there()...).
		Then(clientv3.OpPut(key, string(entry)), clientv3.OpPut(s.headKey(), "", clientv3.WithPrevKV())).Commit()
	switch {
	case errors.Is(err, rpctypes.ErrRequestTooLarge):
		err = fmt.Errorf("%w: entry of %d bytes, more than the server's max-request-bytes", journal.ErrSize, len(entry))
	case err != nil:
	case !answer.Succeeded:
		if err = s.advance(seen, answer.Header.Revision); err == nil {
			err = s.lacks(limited, last)
		}
	default:
		// Equal is a fork, too: the transaction has made a revision of its own.
		err = s.advance(seen+1, answer.Header.Revision)
	}
	if err != nil {
		return s.wrap(ctx, err)
	}
	added := mark{1, key}
	if before := answer.Responses[1].GetResponsePut().GetPrevKv(); before != nil {
		added.at = before.Version + 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.added.advance(added)
	return nil
}

// head is the end of the entries.
type head struct {
	at       int64 // position of the last entry
	revision int64 // of the answer
}

func (s *Store) head(ctx context.Context) (head, error) {
	if err := s.client.Ctx().Err(); err != nil {
		return head{}, err
	}
	seen := s.seen.Load()
	answer, err := s.client.Get(ctx, s.headKey(), clientv3.WithKeysOnly())
	if err == nil {
		err = s.advance(seen, answer.Header.Revision)
	}
	if err != nil {
		return head{}, err
	}
	h := head{revision: answer.Header.Revision}
	if len(answer.Kvs) > 0 {
		h.at = answer.Kvs[0].Version
	}
	return h, nil
}
