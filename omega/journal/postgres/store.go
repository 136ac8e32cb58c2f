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

	mu     sync.Mutex    // guards what follows
	grown  chan struct{} // closed when this Store has added an entry
	read   mark          // the last entry that a walk has found
	added  mark          // the last entry that an Append has added
	behind mark          // the end of a walk
	ahead  passed        // entries behind it that the last Append has found
}

// mark is an entry that is known to be there. A database without it has another history, or has trimmed it: histories
// that part before it have another tag at its position, or nothing.
type mark struct{ at, tag int64 }

// advance makes m the later one of two.
func (m *mark) advance(other mark) {
	if other.at > m.at {
		*m = other
	}
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

// Append implements [journal.Store]. It is one statement, which has no effect on a database without
// the last entry that this Store knows. The row in cellsched_journal is locked
// from its update to the commit, so entries become visible in the order of their positions:
// a reader that sees an entry sees all before it. A statement ends by itself where it does not get the lock in
// time. An Append without an answer, or with a context that ended, closes its connection. It does not
// cancel the statement, which may still add the entry.
func (s *Store) Append(ctx context.Context, entry []byte) error {
	if len(entry) == 0 || len(entry) > maxData {
		return s.wrap(ctx, fmt.Errorf("%w: entry of %d bytes, want 1 to %d", journal.ErrSize, len(entry), maxData))
	}
	tag := make([]byte, 8)
	if _, err := rand.Read(tag); err != nil {
		return s.wrap(ctx, err)
	}
	limit := min(s.wait<<min(s.late.Load(), 8), longest)
	known, last := s.marks()
	after := int64(-1) // of no walk
	if known.at >= last.at {
		after = known.at
	}
	last.advance(known)
	ahead, at, gap := passed{last: known}, int64(0), after < 0
	err := s.query(ctx, limit, `SELECT entry_n, entry_tag, entry_data FROM cellsched_append($1, $2, $3, $4, $5, $6, $7)`, args{
		{int8OID, s.id},
		{int8OID, tag},
		{byteaOID, entry},
		text(strconv.FormatInt(max(1, (limit*3/4).Milliseconds()), 10)),
		number(last.at), number(last.tag), number(after),
	}, func(row [][]byte) {
		m, data := markOf(row), row[2]
		if at = m.at; data == nil {
			data = entry
		}
		gap = gap || !ahead.add(m, data)
	})
	if errors.Is(err, os.ErrDeadlineExceeded) || is(err, lockNotAvailable) {
		s.late.Add(1)
	} else {
		s.late.Store(0)
	}
	if err == nil && at == 0 {
		err = s.lacks(ctx, last)
	}
	if err != nil {
		return s.wrap(ctx, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.added.advance(mark{at, int64(binary.BigEndian.Uint64(tag))})
	if s.behind, s.ahead = known, ahead; gap {
		s.ahead = passed{}
	}
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
