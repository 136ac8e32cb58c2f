package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

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
		if read, _ := s.marks(); read.at == w.at {
			w.key = read.key
		}
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
	read, added := w.store.marks() // before the head, which has to show them
	h, err := w.store.head(ctx)
	if err != nil {
		return err
	}
	if err := w.list(ctx, h, read, added); err != nil {
		return err
	}
	return w.watch(ctx, h.revision+1)
}

// list walks over the entries up to a head. Entries that are known have to be among them, or trimmed.
func (w *walk) list(ctx context.Context, h head, known ...mark) error {
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
	if w.at > 0 && w.key == "" {
		w.key = keys[w.at-first]
	}
	for _, m := range append(known, mark{w.at, w.key}) {
		if err := m.in(keys, first); err != nil && !errors.Is(err, journal.ErrTrimmed) {
			return err
		}
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
	w.store.mu.Lock()
	w.store.read.advance(mark{w.at, key})
	w.store.mu.Unlock()
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
	answers := w.store.client.Watch(ctx, w.store.prefix+"/log/", clientv3.WithPrefix(), clientv3.WithRev(revision), clientv3.WithFilterDelete())
	late := time.NewTicker(time.Second)
	defer late.Stop()
	for missed := int64(0); ; {
		select {
		case answer, ok := <-answers:
			switch {
			case !ok && ctx.Err() != nil:
				return ctx.Err()
			case !ok:
				return errGap
			}
			if err := w.answer(&answer); err != nil {
				return err
			}
		case <-late.C:
			// An older copy that has taken over sends nothing before it has made as many revisions. So an
			// entry of this process that does not come is looked for.
			_, added := w.store.marks()
			if added.at > w.at && added.at == missed {
				return errGap
			}
			missed = added.at
		}
	}
}

// answer walks over the entries of an answer of the watch.
func (w *walk) answer(answer *clientv3.WatchResponse) error {
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
		return w.end()
	}
	return nil
}

// event walks over an entry that was put together with the head.
func (w *walk) event(put, head *mvccpb.KeyValue) error {
	switch {
	case head.Version <= w.at:
		return fmt.Errorf("%w: entry %d was put again", journal.ErrForked, head.Version)
	case head.Version > w.at+1 || put == nil || put.ModRevision != head.ModRevision:
		return errGap
	}
	if _, added := w.store.marks(); added.at == head.Version && added.key != string(put.Key) {
		return fmt.Errorf("%w: entry %d is another one than was added", journal.ErrForked, added.at)
	}
	return w.tell(string(put.Key), put.Value)
}
