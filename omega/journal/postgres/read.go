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
		w := walk{store: s, at: int64(after)}
		wait, ended := firstPoll, false
		for {
			grown := s.appended()
			if err := w.fetch(ctx); err != nil {
				yield(journal.Entry{}, s.wrap(ctx, err))
				return
			}
			from := 0
			for i, to := range w.ends {
				at := journal.Position(w.at) - journal.Position(len(w.ends)-1-i)
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
			if !ended && !yield(journal.Entry{At: journal.Position(w.at)}, nil) {
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
	at    int64 // of the last entry that was fetched
	tag   int64 // of that entry
	known bool  // the tag is

	buf  []byte
	ends []int // in buf, of the entries that were fetched last
}

// fetch fetches entries behind the last one. That one is asked for again, without its data: if
// it is not there any more, or is another one, the database has lost entries. A checkpoint
// leaves the entry at its own position, so there is one at the position where a walk begins.
func (w *walk) fetch(ctx context.Context) error {
	at, first, found := w.at, true, error(nil)
	w.buf, w.ends = w.buf[:0], w.ends[:0]
	err := w.store.query(ctx, w.store.wait, `
		SELECT n, tag, CASE WHEN n > $2 THEN data END FROM cellsched_entry
		WHERE journal = $1 AND n >= $2 ORDER BY n LIMIT $3`,
		args{{int8OID, w.store.id}, number(at), number(fetched + 1)}, func(row [][]byte) {
			if found != nil {
				return
			}
			n, tag := int64(binary.BigEndian.Uint64(row[0])), int64(binary.BigEndian.Uint64(row[1]))
			switch {
			case first && at > 0 && n == at:
				if w.known && tag != w.tag {
					found = fmt.Errorf("%w: entry %d is another one than it was", journal.ErrForked, n)
				}
				first, w.tag, w.known = false, tag, true
				return
			case first && n > at && (at > 0 || n > 1):
				found = fmt.Errorf("%w: entry %d, the first is %d", journal.ErrTrimmed, max(at, 1), n)
				return
			case n != w.at+1:
				found = fmt.Errorf("%w: entry %d behind entry %d", journal.ErrDamaged, n, w.at)
				return
			}
			first = false
			w.at, w.tag, w.known = n, tag, true
			w.buf = append(w.buf, row[2]...)
			w.ends = append(w.ends, len(w.buf))
		})
	switch {
	case err != nil:
		return err
	case found == nil && first && at > 0:
		return w.store.lacks(ctx, at)
	}
	return found
}

// lacks returns the error of a database that has no entry at a position where there was one. A standby
// may only be late: then it is an error like that of a database that is away.
func (s *Store) lacks(ctx context.Context, at int64) error {
	standby, there := false, false
	err := s.query(ctx, s.wait, `SELECT pg_is_in_recovery(), EXISTS (SELECT FROM cellsched_entry WHERE journal = $1 AND n = $2)`,
		args{{int8OID, s.id}, number(at)}, func(row [][]byte) { standby, there = row[0][0] != 0, row[1][0] != 0 })
	switch {
	case err != nil:
		return err
	case standby || there: // there: it was one a moment ago
		return fmt.Errorf("entries end before position %d on a standby, want the primary", at)
	}
	return fmt.Errorf("%w: entries end before position %d, which was there", journal.ErrForked, at)
}
