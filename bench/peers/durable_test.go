package peers_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/cellsched/cellsched/internal/journals"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/file"
	"github.com/cellsched/cellsched/omega/journal/journaltest"
)

// boltStore is a journal in a bbolt file: the position is the key of an entry. It has the
// group commit of omega/journal above it, so bbolt serves one update at a time, and syncs
// twice for each. Values end with a checksum, since bbolt does not find damage of them.
type boltStore struct {
	db *bbolt.DB

	mu    sync.Mutex // guards what follows
	next  journal.Position
	grown chan struct{}
}

var (
	boltEntries = []byte("entries")
	boltTable   = crc32.MakeTable(crc32.Castagnoli)
)

func openBolt(tb testing.TB, path string) *boltStore {
	tb.Helper()
	// The list of free pages is found again by a walk: an update writes less.
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, PreLoadFreelist: true})
	require.NoError(tb, err)
	require.NoError(tb, db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(boltEntries)
		if err == nil {
			b.FillPercent = 1 // keys only rise
		}
		return err
	}))
	return &boltStore{db: db, next: 1, grown: make(chan struct{})}
}

func boltKey(at journal.Position) []byte { return binary.BigEndian.AppendUint64(nil, uint64(at)) }

func (s *boltStore) Append(_ context.Context, entry []byte) error {
	if len(entry) == 0 {
		return fmt.Errorf("%w: entry of nothing", journal.ErrSize)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(boltEntries)
		b.FillPercent = 1
		return b.Put(boltKey(s.next), binary.LittleEndian.AppendUint32(bytes.Clone(entry), crc32.Checksum(entry, boltTable)))
	})
	if err != nil {
		return fmt.Errorf("%w: %w", journal.ErrFailed, err)
	}
	s.next++
	close(s.grown)
	s.grown = make(chan struct{})
	return nil
}

func (s *boltStore) Read(ctx context.Context, after journal.Position) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		for at := after; ; {
			s.mu.Lock()
			next, grown := s.next, s.grown
			s.mu.Unlock()
			for ; at+1 < next; at++ {
				var data []byte
				err := s.db.View(func(tx *bbolt.Tx) error {
					v := tx.Bucket(boltEntries).Get(boltKey(at + 1))
					if len(v) < 4 || crc32.Checksum(v[:len(v)-4], boltTable) != binary.LittleEndian.Uint32(v[len(v)-4:]) {
						return fmt.Errorf("%w: entry %d", journal.ErrDamaged, at+1)
					}
					data = bytes.Clone(v[:len(v)-4])
					return nil
				})
				if err == nil {
					err = context.Cause(ctx)
				}
				if err != nil {
					yield(journal.Entry{}, err)
					return
				}
				if !yield(journal.Entry{At: at + 1, Data: data}, nil) {
					return
				}
			}
			if !yield(journal.Entry{At: at}, nil) {
				return
			}
			select {
			case <-grown:
			case <-ctx.Done():
				yield(journal.Entry{}, context.Cause(ctx))
				return
			}
		}
	}
}

func (s *boltStore) Checkpoint(context.Context) (at journal.Position, r io.ReadCloser, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		if v := tx.Bucket(boltEntries).Get(boltKey(0)); v != nil {
			at, r = journal.Position(binary.LittleEndian.Uint64(v)), io.NopCloser(bytes.NewReader(bytes.Clone(v[8:])))
		}
		return nil
	})
	return at, r, err
}

func (s *boltStore) Replace(ctx context.Context, at journal.Position, save func(io.Writer) error) error {
	if last, _, err := s.Checkpoint(ctx); err != nil || at <= last {
		return err
	}
	var b bytes.Buffer
	b.Write(binary.LittleEndian.AppendUint64(nil, uint64(at)))
	if err := save(&b); err != nil {
		return err
	}
	return s.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(boltEntries).Put(boltKey(0), b.Bytes()) })
}

func TestBolt_IsAStore(t *testing.T) {
	journaltest.Run(t, func(t *testing.T) func() journal.Store {
		t.Helper()
		store := openBolt(t, filepath.Join(t.TempDir(), "bolt"))
		t.Cleanup(func() { require.NoError(t, store.db.Close()) })
		return func() journal.Store { return store }
	})
}

// BenchmarkDurable is commits of several schedulers on 5,000 machines, each placed, kept and
// applied. A later commit releases the allocations of an earlier one. There are three ways to
// keep them:
//
//   - file: the journal of omega/journal on the files of omega/journal/file;
//   - bbolt: the same journal, with its group commit, on bbolt;
//   - rows: a cell in memory, and a row in bbolt for each allocation, written by bbolt's own
//     group commit (Batch) once the cell has granted it. A crash between the two loses a grant
//     that others have seen, and there are no copies.
func BenchmarkDurable(b *testing.B) {
	for _, shape := range []struct{ schedulers, claims int }{{1, 1}, {8, 1}, {64, 1}, {8, 16}} {
		for _, impl := range []string{"file", "bbolt", "rows"} {
			b.Run(fmt.Sprintf("schedulers=%d/claims=%d/impl=%s", shape.schedulers, shape.claims, impl), func(b *testing.B) {
				first := omega.Config{Machines: journals.Machines()}
				var store journal.Store
				if impl == "file" {
					s, err := file.Open(b.TempDir())
					require.NoError(b, err)
					defer s.Close()
					store = s
				} else {
					s := openBolt(b, filepath.Join(b.TempDir(), "bolt"))
					defer s.db.Close()
					if impl == "rows" {
						cell, err := omega.NewCell(first)
						require.NoError(b, err)
						s.db.MaxBatchSize, s.db.MaxBatchDelay = shape.schedulers, 200*time.Microsecond
						journals.Turnover(b, cell, shape.schedulers, shape.claims, s.keep)
						return
					}
					store = s
				}
				cell, err := journal.Open(b.Context(), store, journal.Config{First: first})
				require.NoError(b, err)
				journals.Turnover(b, cell.Cell, shape.schedulers, shape.claims, nil)
				require.NoError(b, cell.Close(context.Background()))
			})
		}
	}
}

// keep writes the rows of a transaction that the cell has granted, and deletes those that it has
// released.
func (s *boltStore) keep(released []omega.AllocationID, tx *omega.Txn) error {
	return s.db.Batch(func(rows *bbolt.Tx) error {
		b := rows.Bucket(boltEntries)
		for _, a := range released {
			if err := b.Delete(boltRow(a)); err != nil {
				return err
			}
		}
		for i := range tx.Len() {
			if a, ok := tx.Allocation(i); ok {
				row := binary.LittleEndian.AppendUint64(nil, a.Seq())
				row = append(row, make([]byte, 16)...) // its need
				if err := b.Put(boltRow(a), binary.LittleEndian.AppendUint32(row, crc32.Checksum(row, boltTable))); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func boltRow(a omega.AllocationID) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, uint32(a.Node())), a.Seq())
}
