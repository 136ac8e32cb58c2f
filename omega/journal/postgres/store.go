package postgres

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/resources"
)

// maxData bounds an entry: PostgreSQL takes 1 GiB a value, and a message of less than 2 GiB.
const maxData = 512 << 20

// kept is how long an entry stays that a checkpoint has made dispensable: a process that is
// no further behind than that still reads it.
const kept = time.Minute

// Store is a [journal.Store] in a database. [Open] makes it. A Store holds no connection
// between its calls.
type Store struct {
	pool *pgxpool.Pool
	name string
	id   []byte        // of the row in cellsched_journal, an int8
	kept time.Duration // as the constant, which tests change
	wait time.Duration // patience, which tests change
	late atomic.Int32  // appends in a row that got no answer in time, or no lock

	mu    sync.Mutex    // guards what follows
	grown chan struct{} // closed when this Store has added an entry
}

var _ journal.Store = (*Store)(nil)

// Open opens the journal of a name in a database, which it makes where needed. It creates the
// tables of [Schema] if there are none. The pool stays its opener's, and takes any
// mode of execution.
//
// Errors: [resources.ErrNil]; those of the database; the cause of ctx. A name that is empty, has a
// zero byte or is not UTF-8 is refused, and so is a database with synchronous_commit off.
func Open(ctx context.Context, pool *pgxpool.Pool, name string) (*Store, error) {
	switch {
	case ctx == nil:
		return nil, fault.New("postgres", "context", resources.ErrNil)
	case pool == nil:
		return nil, fault.New("postgres", "pool", resources.ErrNil)
	case name == "" || strings.ContainsRune(name, 0) || !utf8.ValidString(name):
		return nil, fmt.Errorf("postgres: journal %s: want a name in UTF-8 without zero bytes", fault.Quote(name))
	}
	s := &Store{pool: pool, name: name, kept: kept, wait: patience, grown: make(chan struct{})}
	if err := s.open(ctx); err != nil {
		return nil, s.wrap(ctx, err)
	}
	return s, nil
}

// open finds the row of the journal, or adds it.
func (s *Store) open(ctx context.Context) error {
	setting := ""
	if err := s.query(ctx, longest, `SELECT current_setting('synchronous_commit')`, nil, func(row [][]byte) { setting = string(row[0]) }); err != nil {
		return err
	}
	if setting == "off" {
		return errors.New("synchronous_commit is off, want on: an entry must be durable")
	}
	for range 3 {
		err := s.query(ctx, longest, `SELECT id FROM cellsched_journal WHERE name = $1`, args{text(s.name)}, func(row [][]byte) { s.id = append([]byte(nil), row[0]...) })
		switch {
		case undefined(err):
			err = s.exec(ctx, "SELECT pg_advisory_xact_lock(7010093215);"+Schema) // one transaction
		case err == nil && s.id != nil:
			return nil
		case err == nil:
			err = s.query(ctx, longest, `INSERT INTO cellsched_journal (name) VALUES ($1) ON CONFLICT DO NOTHING`, args{text(s.name)}, nil)
		}
		if err != nil {
			return err
		}
	}
	return errors.New("its row in cellsched_journal is deleted as it is added")
}

// wrap names the journal in an error. It returns the cause of a context that has ended.
func (s *Store) wrap(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fault.Newf("postgres", err, "journal %s", fault.Quote(s.name))
}

// Append implements [journal.Store]. It is one statement. The row in cellsched_journal is locked
// from its update to the commit, so entries become visible in the order of their positions:
// a reader that sees an entry sees all before it. A statement ends by itself where it does not get the lock in
// time. An Append without an answer, or with a context that ended, closes its connection. It does not
// cancel the statement, which may still add the entry.
func (s *Store) Append(ctx context.Context, entry []byte) error {
	if len(entry) == 0 || len(entry) > maxData {
		return s.wrap(ctx, fmt.Errorf("%w: entry of %d bytes, want 1 to %d", journal.ErrFailed, len(entry), maxData))
	}
	tag, added := make([]byte, 8), false
	if _, err := rand.Read(tag); err != nil {
		return s.wrap(ctx, err)
	}
	limit := min(s.wait<<min(s.late.Load(), 8), longest)
	err := s.query(ctx, limit, `
		WITH head AS (
			UPDATE cellsched_journal SET n = n + 1
			WHERE id = $1 AND set_config('lock_timeout', $4, true) IS NOT NULL RETURNING id, n)
		INSERT INTO cellsched_entry (journal, n, tag, data) SELECT id, n, $2, $3 FROM head RETURNING n`,
		args{{int8OID, s.id}, {int8OID, tag}, {byteaOID, entry}, text(strconv.FormatInt(max(1, (limit*3/4).Milliseconds()), 10))},
		func([][]byte) { added = true })
	if errors.Is(err, os.ErrDeadlineExceeded) || is(err, lockNotAvailable) {
		s.late.Add(1)
	} else {
		s.late.Store(0)
	}
	switch {
	case err != nil:
		return s.wrap(ctx, err)
	case !added:
		return s.wrap(ctx, fmt.Errorf("%w: its row in cellsched_journal was deleted", journal.ErrFailed))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.grown)
	s.grown = make(chan struct{})
	return nil
}

// appended returns a channel that is closed by the next Append.
func (s *Store) appended() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grown
}

func number(n int64) arg { return arg{int8OID, binary.BigEndian.AppendUint64(nil, uint64(n))} }
