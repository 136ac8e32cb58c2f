package etcd

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/cellsched/cellsched/omega/journal"
)

const (
	partSize = 512 << 10 // of a checkpoint
	deleted  = 100       // entries that are deleted at a time: etcd takes 128 operations
)

// pointer is the value of the key that names the last checkpoint.
type pointer struct {
	at, before journal.Position // of it, and of the checkpoint before
	count      uint64           // of its parts
	parts      string           // prefix of its parts
	changed    int64            // revision of the value, 0 for none
	revision   int64            // of the answer
}

func (s *Store) pointerKey() string { return s.prefix + "/checkpoint" }

func (s *Store) pointer(ctx context.Context) (p pointer, err error) {
	seen := s.seen.Load()
	answer, err := s.client.Get(ctx, s.pointerKey())
	if err == nil {
		err = s.advance(seen, answer.Header.Revision)
	}
	if err != nil {
		return p, err
	}
	p.revision = answer.Header.Revision
	if len(answer.Kvs) == 0 {
		return p, nil
	}
	value := answer.Kvs[0].Value
	if len(value) < 24 {
		return p, fmt.Errorf("%w: checkpoint named by %d bytes", journal.ErrDamaged, len(value))
	}
	p.at, p.before = journal.Position(binary.BigEndian.Uint64(value)), journal.Position(binary.BigEndian.Uint64(value[8:]))
	p.count, p.parts, p.changed = binary.BigEndian.Uint64(value[16:]), string(value[24:]), answer.Kvs[0].ModRevision
	return p, nil
}

func (p *pointer) encode() string {
	b := binary.BigEndian.AppendUint64(nil, uint64(p.at))
	b = binary.BigEndian.AppendUint64(b, uint64(p.before))
	b = binary.BigEndian.AppendUint64(b, p.count)
	return string(b) + p.parts
}

// Checkpoint implements [journal.Store].
func (s *Store) Checkpoint(ctx context.Context) (journal.Position, io.ReadCloser, error) {
	p, err := s.pointer(ctx)
	switch {
	case err != nil:
		return 0, nil, s.wrap(ctx, err)
	case p.changed == 0:
		return 0, nil, nil
	}
	return p.at, &reader{ctx: ctx, store: s, next: p.parts, end: clientv3.GetPrefixRangeEnd(p.parts), left: p.count, revision: p.revision}, nil
}

// reader reads the parts of a checkpoint as they are at one revision, although it is replaced
// meanwhile.
type reader struct {
	ctx       context.Context //nolint:containedctx // of the call that it lives in
	store     *Store
	next, end string // keys
	left      uint64 // parts to read
	revision  int64
	part      []byte // what is left of the present one
}

func (r *reader) Read(b []byte) (int, error) {
	for len(r.part) == 0 {
		answer, err := r.store.client.Get(r.ctx, r.next, clientv3.WithRange(r.end), clientv3.WithLimit(1), clientv3.WithRev(r.revision))
		switch {
		case err != nil:
			return 0, r.store.wrap(r.ctx, err)
		case len(answer.Kvs) == 0 && r.left == 0:
			return 0, io.EOF
		case len(answer.Kvs) == 0 || r.left == 0:
			return 0, r.store.wrap(r.ctx, fmt.Errorf("%w: checkpoint with other parts than were written", journal.ErrDamaged))
		}
		r.left--
		r.part, r.next = answer.Kvs[0].Value, string(answer.Kvs[0].Key)+"\x00"
	}
	n := copy(b, r.part)
	r.part = r.part[n:]
	return n, nil
}

func (r *reader) Close() error { return nil }

// Replace implements [journal.Store]. It drops the entries before the checkpoint that it
// replaces: a process that is no further behind than that goes on. Entries that cannot be
// deleted stay until the next checkpoint.
func (s *Store) Replace(ctx context.Context, at journal.Position, save func(io.Writer) error) error {
	p, err := s.pointer(ctx)
	if err == nil && p.changed > 0 && p.at >= at {
		return nil
	}
	h := head{}
	if err == nil {
		h, err = s.head(ctx)
	}
	if err == nil && journal.Position(h.at) < at {
		err = fmt.Errorf("%w: entries end at position %d, the checkpoint is at %d", journal.ErrForked, h.at, at)
	}
	if err != nil {
		return s.wrap(ctx, err)
	}
	mine := fmt.Sprintf("%s/%016x-%s/", s.pointerKey(), at, rand.Text())
	w := writer{ctx: ctx, store: s, prefix: mine}
	if err = save(&w); err == nil {
		err = w.flush()
	}
	if err != nil {
		_, _ = s.client.Delete(ctx, mine, clientv3.WithPrefix()) // no pointer names them
		return s.wrap(ctx, err)
	}
	// After an error of point the pointer may name the parts, now or later. They stay: the next checkpoint
	// deletes those that have no effect.
	if err = s.point(ctx, pointer{at: at, count: uint64(w.parts), parts: mine}); err != nil {
		return s.wrap(ctx, err)
	}
	return nil
}

// point makes p the last checkpoint, unless there is one that is as late, and drops what is not needed
// any more.
func (s *Store) point(ctx context.Context, p pointer) error {
	for {
		last, err := s.pointer(ctx)
		if err != nil {
			return err
		}
		if last.changed > 0 && last.at >= p.at { // another process was faster
			_, err := s.client.Delete(ctx, p.parts, clientv3.WithPrefix())
			return err
		}
		p.before = last.at
		// A deletion of parts is of all of a checkpoint, so the first one stands for the others. The entries that the
		// checkpoint stands for must be those of this store: it may be an older copy.
		known := s.latest()
		whole := append(known.there(), clientv3.Compare(clientv3.CreateRevision(part(p.parts, 0)), ">", 0))
		answer, err := s.client.Txn(ctx).
			If(append(whole, clientv3.Compare(clientv3.ModRevision(s.pointerKey()), "=", last.changed))...).
			Then(clientv3.OpPut(s.pointerKey(), p.encode())).
			Else(clientv3.OpGet(part(p.parts, 0), clientv3.WithCountOnly())).Commit()
		switch {
		case err != nil:
			return err
		case answer.Succeeded:
		case answer.Responses[0].GetResponseRange().GetCount() == 0:
			return fmt.Errorf("the parts of the checkpoint at position %d were deleted as it was written", p.at)
		default:
			if err := s.lacks(ctx, known); errors.Is(err, journal.ErrForked) {
				return err
			}
			continue // another one did
		}
		break
	}
	mine := clientv3.Compare(clientv3.Value(s.pointerKey()), "=", p.encode()) // an older copy has another checkpoint, or none
	// Also the parts that another process writes for an earlier position: they have no effect.
	_, _ = s.client.Txn(ctx).If(mine).
		Then(clientv3.OpDelete(s.pointerKey()+"/", clientv3.WithRange(fmt.Sprintf("%s/%016x", s.pointerKey(), p.at)))).Commit()
	s.trim(ctx, int64(p.before), mine)
	return nil
}

// trim deletes the entries before a position, but not the one there: see walk.list. They are
// deleted in order, so that those which are left have no gap, and while a comparison holds.
func (s *Store) trim(ctx context.Context, before int64, while clientv3.Cmp) {
	h, err := s.head(ctx)
	if err != nil {
		return
	}
	keys, first, err := s.list(ctx, h)
	if err != nil {
		return
	}
	for keys = keys[:max(0, min(before-first, int64(len(keys))))]; len(keys) > 0; {
		ops := make([]clientv3.Op, min(len(keys), deleted))
		for i := range ops {
			ops[i] = clientv3.OpDelete(keys[i])
		}
		keys = keys[len(ops):]
		if answer, err := s.client.Txn(ctx).If(while).Then(ops...).Commit(); err != nil || !answer.Succeeded {
			return
		}
	}
}

// part returns the key of a part.
func part(prefix string, n int) string { return fmt.Sprintf("%s%08x", prefix, n) }

// writer writes the parts of a checkpoint.
type writer struct {
	ctx    context.Context //nolint:containedctx // of the call that it lives in
	store  *Store
	prefix string
	parts  int
	buf    []byte
}

func (w *writer) Write(b []byte) (n int, err error) {
	for n < len(b) {
		size := min(len(b)-n, partSize-len(w.buf))
		w.buf = append(w.buf, b[n:n+size]...)
		n += size
		if len(w.buf) == partSize {
			if err := w.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// flush writes a part. There is one at least, of a checkpoint without bytes too.
func (w *writer) flush() error {
	if len(w.buf) == 0 && w.parts > 0 {
		return nil
	}
	_, err := w.store.client.Put(w.ctx, part(w.prefix, w.parts), string(w.buf))
	w.parts, w.buf = w.parts+1, w.buf[:0]
	return err
}
