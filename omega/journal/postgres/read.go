package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"time"

	"github.com/cellsched/cellsched/omega/journal"
)

const (
	// fetched is the most entries that a query returns.
	fetched = 64
	// A walk at the end asks again at once when this process has appended. Otherwise it asks
	// after firstPoll, and after twice the time with each answer without entries.
	firstPoll, lastPoll = 5 * time.Millisecond, 100 * time.Millisecond
)

// Read implements [journal.Store]. Entries of other processes are found by polling, within
// 100 ms.
func (s *Store) Read(ctx context.Context, after journal.Position) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		w := walk{store: s, passed: passed{last: mark{at: int64(after)}}}
		wait, ended := firstPoll, false
		for {
			grown := s.appended()
			if err := w.fetch(ctx); err != nil {
				yield(journal.Entry{}, s.wrap(ctx, err))
				return
			}
			from := 0
			for i, to := range w.ends {
				at := journal.Position(w.last.at) - journal.Position(len(w.ends)-1-i)
				if !yield(journal.Entry{At: at, Data: w.buf[from:to]}, nil) {
					return
				}
				from = to
			}
			if len(w.ends) > 0 {
				wait, ended = firstPoll, false
			}
			if len(w.ends) == fetched {
				continue
			}
			if !ended && !yield(journal.Entry{At: journal.Position(w.last.at)}, nil) {
				return
			}
			ended = true
			timer := time.NewTimer(wait)
			select {
			case <-grown:
			case <-timer.C:
				wait = min(2*wait, lastPoll)
			case <-ctx.Done():
			}
			timer.Stop()
			if ctx.Err() != nil {
				yield(journal.Entry{}, context.Cause(ctx))
				return
			}
		}
	}
}

// walk is a walk over the entries.
type walk struct {
	store *Store
	known bool // the tag of the last entry is
	passed
}

// passed are entries one behind the other.
type passed struct {
	last mark // the last one, or that before them
	buf  []byte
	ends []int // in buf
}

// add adds an entry unless there would be a gap.
func (p *passed) add(m mark, data []byte) bool {
	if m.at != p.last.at+1 {
		return false
	}
	p.last, p.buf = m, append(p.buf, data...)
	p.ends = append(p.ends, len(p.buf))
	return true
}

// markOf returns the entry of a row that begins with its position and its tag.
func markOf(row [][]byte) mark {
	return mark{int64(binary.BigEndian.Uint64(row[0])), int64(binary.BigEndian.Uint64(row[1]))}
}

// fetch fetches entries behind the last one. That one is asked for again, without its data: if
// it is not there any more, or is another one, the database has lost entries. A checkpoint
// leaves the entry at its own position, so there is one at the position where a walk begins.
//
// The entries that this Store knows of other walks and of appends have to be there too.
func (w *walk) fetch(ctx context.Context) error {
	at, first, found := w.last.at, true, error(nil)
	if w.known && w.store.take(&w.passed) {
		return nil
	}
	read, added := w.store.marks() // before the query, which has to see them
	w.buf, w.ends = w.buf[:0], w.ends[:0]
	err := w.store.query(ctx, w.store.wait, `SELECT entry_n, entry_tag, entry_data FROM cellsched_read($1, $2, $3)`,
		args{{int8OID, w.store.id}, number(at), number(fetched + 1)}, func(row [][]byte) {
			if found != nil {
				return
			}
			m := markOf(row)
			switch {
			case first && m.at > at && (at > 0 || m.at > 1):
				found = fmt.Errorf("%w: entry %d, the first is %d", journal.ErrTrimmed, max(at, 1), m.at)
				return
			case w.known && m.at == at && m != w.last, m.at == read.at && m != read, m.at == added.at && m != added:
				found = another(m.at)
				return
			}
			if first, w.known = false, true; m.at == at {
				w.last = m
			} else if !w.add(m, row[2]) {
				found = fmt.Errorf("%w: entry %d behind entry %d", journal.ErrDamaged, m.at, w.last.at)
			}
		})
	read.advance(added)
	switch {
	case err != nil:
		return err
	case found == nil && first && at > 0:
		return w.store.lacks(ctx, mark{at: at})
	case found == nil && len(w.ends) < fetched && w.last.at < read.at:
		return w.store.lacks(ctx, read)
	}
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	w.store.read.advance(w.last)
	return found
}

// take moves p to the entries behind its last one that an Append has found, if it did.
func (s *Store) take(p *passed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.behind != p.last || len(s.ahead.ends) == 0 {
		return false
	}
	*p, s.ahead = s.ahead, passed{}
	s.read.advance(p.last)
	return true
}

// lacks returns the error of a database that has no entry m where there was one. A standby
// may only be late: then it is an error like that of a database that is away.
func (s *Store) lacks(ctx context.Context, m mark) error {
	standby, gone, trimmed, other, there := false, false, false, false, false
	err := s.query(ctx, s.wait, `
		SELECT pg_is_in_recovery(), NOT EXISTS (SELECT FROM cellsched_journal WHERE id = $1),
			COALESCE((SELECT min(n) > $2 FROM cellsched_entry WHERE journal = $1), false),
			EXISTS (SELECT FROM cellsched_entry WHERE journal = $1 AND n = $2),
			EXISTS (SELECT FROM cellsched_entry WHERE journal = $1 AND n = $2 AND (tag = $3 OR $3 = 0))`,
		args{{int8OID, s.id}, number(m.at), number(m.tag)}, func(row [][]byte) {
			standby, gone, trimmed, other, there = row[0][0] != 0, row[1][0] != 0, row[2][0] != 0, row[3][0] != 0, row[4][0] != 0
		})
	switch {
	case err != nil:
		return err
	case gone && !standby:
		return fmt.Errorf("%w: its row in cellsched_journal was deleted", journal.ErrFailed)
	case standby || there: // there: it was one a moment ago
		return fmt.Errorf("entries end before position %d on a standby, want the primary", m.at)
	case trimmed:
		return fmt.Errorf("%w: entry %d", journal.ErrTrimmed, m.at)
	}
	if other {
		return another(m.at)
	}
	return fmt.Errorf("%w: entries end before position %d, which was there", journal.ErrForked, m.at)
}

func another(at int64) error {
	return fmt.Errorf("%w: entry %d is another one than it was", journal.ErrForked, at)
}
