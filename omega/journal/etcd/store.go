package etcd

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"time"

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

// Append implements [journal.Store]. The transaction is where an entry gets its position.
func (s *Store) Append(ctx context.Context, entry []byte) error {
	if len(entry) == 0 || len(entry) > maxData {
		return s.wrap(ctx, fmt.Errorf("%w: entry of %d bytes, want 1 to %d", journal.ErrFailed, len(entry), maxData))
	}
	if err := s.client.Ctx().Err(); err != nil {
		return s.wrap(ctx, err) // the client would try for a while
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	seen := s.seen.Load()
	answer, err := s.client.Txn(limited).Then(
		clientv3.OpPut(s.entryPrefix()+rand.Text(), string(entry)),
		clientv3.OpPut(s.headKey(), ""),
	).Commit()
	if err == nil {
		// Equal is a fork, too: the transaction has made a revision of its own.
		err = s.advance(seen+1, answer.Header.Revision)
	}
	if err != nil {
		return s.wrap(ctx, err)
	}
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
