package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/cellsched/cellsched/omega/journal"
)

const (
	listed  = 5000 // keys that a request returns
	fetched = 32   // entries that a request returns
)

// Read implements [journal.Store]. It lists the entries that are there, and watches for more.
// The keys of all entries that the store has are in memory while it lists.
func (s *Store) Read(ctx context.Context, after journal.Position) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		w := walk{store: s, at: int64(after), yield: yield}
		err := errGap
		for errors.Is(err, errGap) || errors.Is(err, rpctypes.ErrCompacted) {
			err = w.pass(ctx)
		}
		if !errors.Is(err, errStopped) {
			yield(journal.Entry{}, s.wrap(ctx, err))
		}
	}
}

var (
	errGap     = errors.New("etcd: watch has a gap")
	errStopped = errors.New("etcd: walk has ended")
)

// walk is a walk over the entries.
type walk struct {
	store *Store
	yield func(journal.Entry, error) bool
	at    int64  // position of the last entry
	key   string // of that entry, empty if not known
	ended bool   // the end was told, since the last entry
}

// pass walks over the entries that are there, and then over those that a watch brings, until
// the watch ends.
func (w *walk) pass(ctx context.Context) error {
	h, err := w.store.head(ctx)
	if err != nil {
		return err
	}
	if err := w.list(ctx, h); err != nil {
		return err
	}
	return w.watch(ctx, h.revision+1)
}

// list walks over the entries up to a head.
func (w *walk) list(ctx context.Context, h head) error {
	if h.at < w.at {
		return fmt.Errorf("%w: entries end at position %d, want %d", journal.ErrForked, h.at, w.at)
	}
	keys, first, err := w.store.list(ctx, h)
	if err != nil {
		return err
	}
	// A trim leaves the entry at the position of a checkpoint, so there is one where a walk begins.
	if w.at > 0 && w.at < first || w.at == 0 && first > 1 {
		return fmt.Errorf("%w: entry %d, the first is %d", journal.ErrTrimmed, max(1, w.at), first)
	}
	if w.at > 0 {
		key := keys[w.at-first]
		if w.key != "" && key != w.key {
			return fmt.Errorf("%w: entry %d is another one than it was", journal.ErrForked, w.at)
		}
		w.key = key
	}
	for keys = keys[w.at+1-first:]; len(keys) > 0; {
		some := keys[:min(len(keys), fetched)]
		keys = keys[len(some):]
		if err := w.fetch(ctx, some); err != nil {
			return err
		}
	}
	return w.end()
}

// list returns the keys of all entries, in order, and the position of the first.
func (s *Store) list(ctx context.Context, h head) (keys []string, first int64, err error) {
	type entry struct {
		key      string
		revision int64
	}
	var all []entry
	from, end := s.entryPrefix(), clientv3.GetPrefixRangeEnd(s.entryPrefix())
	for more := true; more; {
		answer, err := s.client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithKeysOnly(), clientv3.WithLimit(listed), clientv3.WithRev(h.revision))
		if err != nil {
			return nil, 0, err
		}
		for _, kv := range answer.Kvs {
			all = append(all, entry{string(kv.Key), kv.ModRevision})
		}
		if more = answer.More && len(all) > 0; more {
			from = all[len(all)-1].key + "\x00"
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.revision, b.revision) })
	for _, e := range all {
		keys = append(keys, e.key)
	}
	if first = h.at + 1 - int64(len(keys)); first < 1 {
		return nil, 0, fmt.Errorf("%w: %d entries up to position %d", journal.ErrDamaged, len(keys), h.at)
	}
	return keys, first, nil
}

// fetch walks over the entries of some keys.
func (w *walk) fetch(ctx context.Context, keys []string) error {
	ops := make([]clientv3.Op, len(keys))
	for i, key := range keys {
		ops[i] = clientv3.OpGet(key)
	}
	answer, err := w.store.client.Txn(ctx).Then(ops...).Commit()
	if err != nil {
		return err
	}
	for i, key := range keys {
		kvs := answer.Responses[i].GetResponseRange().GetKvs()
		if len(kvs) == 0 {
			return fmt.Errorf("%w: entry %d", journal.ErrTrimmed, w.at+1)
		}
		if err := w.tell(key, kvs[0].Value); err != nil {
			return err
		}
	}
	return nil
}

// tell yields the next entry.
func (w *walk) tell(key string, data []byte) error {
	w.at, w.key, w.ended = w.at+1, key, false
	if !w.yield(journal.Entry{At: journal.Position(w.at), Data: data}, nil) {
		return errStopped
	}
	return nil
}

// end tells that there are no more entries.
func (w *walk) end() error {
	if !w.ended && !w.yield(journal.Entry{At: journal.Position(w.at)}, nil) {
		return errStopped
	}
	w.ended = true
	return nil
}

// watch walks over the entries that are put from a revision on.
func (w *walk) watch(ctx context.Context, revision int64) error {
	// The watch ends with this walk, and where its member has lost the leader.
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	for answer := range w.store.client.Watch(ctx, w.store.prefix+"/log/", clientv3.WithPrefix(), clientv3.WithRev(revision), clientv3.WithFilterDelete()) {
		if err := answer.Err(); err != nil {
			return err
		}
		var put *mvccpb.KeyValue // the entry of the present revision
		for _, event := range answer.Events {
			if kv := event.Kv; strings.HasPrefix(string(kv.Key), w.store.entryPrefix()) {
				put = kv
			} else if err := w.event(put, kv); err != nil {
				return err
			}
		}
		if len(answer.Events) > 0 {
			if err := w.end(); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errGap
}

// event walks over an entry that was put together with the head.
func (w *walk) event(put, head *mvccpb.KeyValue) error {
	switch {
	case head.Version <= w.at:
		return fmt.Errorf("%w: entry %d was put again", journal.ErrForked, head.Version)
	case head.Version > w.at+1 || put == nil || put.ModRevision != head.ModRevision:
		return errGap
	}
	return w.tell(string(put.Key), put.Value)
}
