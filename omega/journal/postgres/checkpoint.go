package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cellsched/cellsched/omega/journal"
)

const (
	partSize = 1 << 20 // of a checkpoint's rows
	trimmed  = 10000   // entries that are deleted at a time
)

// Checkpoint implements [journal.Store]. The reader has a connection of the pool until it is
// closed.
func (s *Store) Checkpoint(ctx context.Context) (journal.Position, io.ReadCloser, error) {
	conn, err := s.acquire(ctx, longest)
	if err != nil {
		return 0, nil, s.wrap(ctx, err)
	}
	// One statement: all rows are of one snapshot, whatever is replaced meanwhile.
	r := &reader{store: s, ctx: ctx, conn: conn, result: start(ctx, conn.Conn(), s.wait, `
		SELECT n, data FROM cellsched_checkpoint
		WHERE journal = $1 AND n = (SELECT max(n) FROM cellsched_checkpoint WHERE journal = $1) ORDER BY part`, args{{int8OID, s.id}})}
	if !r.next() {
		return 0, nil, r.Close()
	}
	return journal.Position(r.at), r, nil
}

// reader reads the parts of a checkpoint.
type reader struct {
	store  *Store
	ctx    context.Context //nolint:containedctx // of the call that it lives in
	conn   *pgxpool.Conn
	result *result
	at     uint64
	part   []byte // what is left of the present one, good until the next
	once   sync.Once
	err    error // of Close
}

// next goes to the next part.
func (r *reader) next() bool {
	row, ok := r.result.next()
	if ok {
		r.at, r.part = binary.BigEndian.Uint64(row[0]), row[1]
	}
	return ok
}

func (r *reader) Read(b []byte) (int, error) {
	for len(r.part) == 0 {
		if !r.next() {
			if err := r.Close(); err != nil {
				return 0, err
			}
			return 0, io.EOF
		}
	}
	n := copy(b, r.part)
	r.part = r.part[n:]
	return n, nil
}

// Close gives the connection back.
func (r *reader) Close() error {
	r.once.Do(func() {
		if err := r.result.close(); err != nil {
			r.err = r.store.wrap(r.ctx, err)
		}
		r.conn.Release()
	})
	return r.err
}

// Replace implements [journal.Store]. The checkpoint is written in one transaction, which locks no
// row that an Append needs. Then the entries before it are deleted that are older than a
// minute. Entries that cannot be deleted stay until the next checkpoint.
func (s *Store) Replace(ctx context.Context, at journal.Position, save func(io.Writer) error) error {
	done, err := s.saved(ctx, at)
	if err != nil || done {
		return err
	}
	err = s.write(ctx, at, save)
	if err != nil {
		if done, _ := s.saved(ctx, at); done { // by another process, at the same time
			return nil
		}
		if errors.Is(err, errOther) {
			err = s.lacks(ctx, s.latest())
		}
		return s.wrap(ctx, err)
	}
	s.trim(ctx, at)
	return nil
}

var errOther = errors.New("the database has other entries than the checkpoint is of")

// write writes a checkpoint and drops the earlier ones, in one transaction. After an error it closes the
// connection, which ends the transaction.
func (s *Store) write(ctx context.Context, at journal.Position, save func(io.Writer) error) error {
	conn, err := s.acquire(ctx, longest)
	if err != nil {
		return err
	}
	defer conn.Release()
	w := writer{ctx: ctx, conn: conn.Conn(), id: s.id, at: at}
	err = run(ctx, w.conn, longest, `BEGIN`, nil, nil)
	if err == nil {
		err = save(&w)
	}
	if err == nil {
		err = w.flush()
	}
	if err == nil {
		err = run(ctx, w.conn, longest, `DELETE FROM cellsched_checkpoint WHERE journal = $1 AND n < $2`, args{{int8OID, s.id}, number(int64(at))}, nil)
	}
	// The entries that the checkpoint stands for must be those of this database: it may be an older copy
	// that others have gone on with. A database that commits this transaction has them.
	if known := s.latest(); err == nil && known.at > 0 {
		there := false
		err = run(ctx, w.conn, longest, `SELECT FROM cellsched_entry WHERE journal = $1 AND n = $2 AND tag = $3`,
			args{{int8OID, s.id}, number(known.at), number(known.tag)}, func([][]byte) { there = true })
		if err == nil && !there {
			err = errOther
		}
	}
	if err == nil {
		err = run(ctx, w.conn, longest, `COMMIT`, nil, nil)
	}
	if err != nil {
		hangUp(w.conn)
	}
	return err
}

// saved reports whether there is a checkpoint at a position or a later one. A position behind
// the last entry is of another history.
func (s *Store) saved(ctx context.Context, at journal.Position) (done bool, err error) {
	ended := false
	err = s.query(ctx, s.wait, `
		SELECT n < $2, EXISTS (SELECT FROM cellsched_checkpoint WHERE journal = $1 AND n >= $2)
		FROM cellsched_journal WHERE id = $1`,
		args{{int8OID, s.id}, number(int64(at))}, func(row [][]byte) { ended, done = row[0][0] != 0, row[1][0] != 0 })
	if err == nil && ended && !done {
		err = s.lacks(ctx, mark{at: int64(at)})
	}
	if err != nil {
		err = s.wrap(ctx, err)
	}
	return done, err
}

// trim deletes entries before a checkpoint, but not the one at its position: see walk.fetch. It deletes from the
// first entry on, up to one that is kept, so that there is no gap though the clock of the database was set. A
// database that lacks the checkpoint, as an older copy does that has taken over, keeps all.
func (s *Store) trim(ctx context.Context, at journal.Position) {
	for deleted := true; deleted; {
		deleted = false
		err := s.query(ctx, longest, `
			WITH oldest AS (
				SELECT n, made FROM cellsched_entry
				WHERE journal = $1 AND n < $4 + (SELECT min(n) FROM cellsched_entry WHERE journal = $1)),
			gone AS (
				DELETE FROM cellsched_entry WHERE journal = $1 AND n < $2 AND n IN (SELECT n FROM oldest)
				AND EXISTS (SELECT FROM cellsched_checkpoint WHERE journal = $1 AND n >= $2)
				AND n < COALESCE((SELECT min(n) FROM oldest WHERE made >= now() - $3 * interval '1 microsecond'), $2)
				RETURNING n)
			SELECT FROM gone LIMIT 1`,
			args{{int8OID, s.id}, number(int64(at)), number(s.kept.Microseconds()), number(trimmed)}, func([][]byte) { deleted = true })
		if err != nil {
			return
		}
	}
}

// writer writes the parts of a checkpoint.
type writer struct {
	ctx   context.Context //nolint:containedctx // of the call that it lives in
	conn  *pgx.Conn
	id    []byte
	at    journal.Position
	parts int32
	buf   []byte
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
	part := arg{pgtype.Int4OID, binary.BigEndian.AppendUint32(nil, uint32(w.parts))}
	if w.buf == nil {
		w.buf = []byte{}
	}
	err := run(w.ctx, w.conn, longest, `INSERT INTO cellsched_checkpoint (journal, n, part, data) VALUES ($1, $2, $3, $4)`,
		args{{int8OID, w.id}, number(int64(w.at)), part, {byteaOID, w.buf}}, nil)
	w.parts, w.buf = w.parts+1, w.buf[:0]
	return err
}
