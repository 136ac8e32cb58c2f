package file

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega/journal"
)

// ErrLocked reports that another process has the folder open.
var ErrLocked = errors.New("file: in use by another process")

const (
	segmentMagic = "OmegaSeg"
	headerSize   = 8 + 8 + 4 // of a segment: the magic, its first position, a checksum
	frameSize    = 4 + 4 + 4 // of a frame before its data: length, place, checksum

	segmentSize = 16 << 20 // of the segments of Open

	maxData = 1 << 30
)

// Store is a [journal.Store] in a folder. [Open] makes it.
type Store struct {
	disk disk
	full int64 // size of a segment from which on the next entry begins a new one

	appending sync.Mutex // held while an entry is appended
	frame     []byte     // guarded by it

	mu       sync.Mutex // guards what follows
	segments []segment  // one at least
	next     journal.Position
	grown    chan struct{} // closed when an entry was added, or the store has failed
	failed   error

	replacing  sync.Mutex       // held while a checkpoint is written; guards what follows
	checkpoint journal.Position // of the last one
	saved      bool             // there is one
	closed     bool
}

var _ journal.Store = (*Store)(nil)

// segment is a file of entries.
type segment struct {
	file  handle
	first journal.Position
	end   int64 // of the last frame
}

// Open opens the journal in a folder, which it makes where needed. The folder is locked until
// Close. Errors: [ErrLocked]; [journal.ErrDamaged] with the file and the place; those of the
// file system.
func Open(folder string) (*Store, error) {
	d, err := openFolder(folder)
	if err != nil {
		return nil, fault.Newf("file", err, "journal in %s", folder)
	}
	s, err := open(d, segmentSize)
	if err != nil {
		return nil, errors.Join(fault.Newf("file", err, "journal in %s", folder), d.close())
	}
	return s, nil
}

// open opens the journal on a disk, with segments of a size.
func open(d disk, full int64) (*Store, error) {
	s := &Store{disk: d, full: full, grown: make(chan struct{})}
	names, err := d.list()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if at, ok := positionOf(name, checkpointPrefix); ok && (!s.saved || at > s.checkpoint) {
			s.checkpoint, s.saved = at, true
		}
	}
	for _, name := range names {
		if first, ok := positionOf(name, segmentPrefix); ok {
			f, err := d.open(name)
			if err != nil {
				return nil, errors.Join(err, s.closeSegments())
			}
			s.segments = append(s.segments, segment{file: f, first: first})
		}
	}
	slices.SortFunc(s.segments, func(a, b segment) int { return cmp.Compare(a.first, b.first) })
	if err := s.recover(); err != nil {
		return nil, errors.Join(err, s.closeSegments())
	}
	return s, nil
}

// recover finds the ends of the segments, and drops a tail that was not synced. It makes
// durable what it found: a process that was killed may have written what it did not sync,
// and a failed sync may have left pages that no later sync writes.
func (s *Store) recover() error {
	s.next = s.checkpoint + 1
	if len(s.segments) > 0 { // before any is removed: the name of the checkpoint may not be durable
		if err := s.disk.sync(); err != nil {
			return err
		}
	}
	// A trim may have removed some of the segments below the checkpoint, in any order.
	for len(s.segments) > 1 && s.segments[1].first <= s.next {
		g := s.segments[0]
		s.segments = s.segments[1:]
		if err := errors.Join(g.file.Close(), s.disk.remove(segmentName(g.first))); err != nil {
			return err
		}
	}
	if s.saved && len(s.segments) == 0 {
		return fmt.Errorf("%w: checkpoint at position %d without a segment, want one at least", journal.ErrDamaged, s.checkpoint)
	}
	for i := range s.segments {
		g := &s.segments[i]
		last := i == len(s.segments)-1
		if i == 0 && g.first > s.next || i > 0 && g.first != s.next {
			return fmt.Errorf("%w: %s: begins at position %d, want %d", journal.ErrDamaged, segmentName(g.first), g.first, s.next)
		}
		size, err := g.file.size()
		if err != nil {
			return err
		}
		data := make([]byte, size)
		if _, err := g.file.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		kept, next := scan(data, g.first)
		if kept < len(data) && (!last || !torn(data[kept:], int64(kept), next)) {
			return fmt.Errorf("%w: %s: byte %d, position %d: want a frame", journal.ErrDamaged, segmentName(g.first), kept, next)
		}
		if last {
			if err := rewrite(g, data[:kept]); err != nil {
				return err
			}
		}
		g.end, s.next = max(int64(kept), headerSize), next
	}
	if s.next <= s.checkpoint {
		return fmt.Errorf("%w: entries end at position %d, the checkpoint is at %d", journal.ErrDamaged, s.next-1, s.checkpoint)
	}
	if len(s.segments) == 0 {
		if err := s.begin(); err != nil {
			return err
		}
	}
	return s.clean()
}

// clean removes what a process has left that ended while it wrote a checkpoint, or before it
// removed the one before.
func (s *Store) clean() error {
	names, err := s.disk.list()
	for _, name := range names {
		at, old := positionOf(name, checkpointPrefix)
		if name == temporary || old && at < s.checkpoint {
			err = errors.Join(err, s.disk.remove(name))
		}
	}
	return err
}

// rewrite makes a segment consist of the data, which it had at its beginning, and of a
// header at least.
func rewrite(g *segment, data []byte) error {
	if len(data) == 0 {
		data = header(g.first)
	}
	if _, err := g.file.WriteAt(data, 0); err != nil {
		return err
	}
	return errors.Join(g.file.Truncate(int64(len(data))), g.file.Sync())
}

// begin begins a new segment.
func (s *Store) begin() error {
	f, err := s.disk.open(segmentName(s.next))
	if err != nil {
		return err
	}
	if err := errors.Join(writeHeader(f, s.next), s.disk.sync()); err != nil {
		return errors.Join(err, f.Close())
	}
	s.segments = append(s.segments, segment{f, s.next, headerSize})
	return nil
}

func header(first journal.Position) []byte {
	b := binary.LittleEndian.AppendUint64([]byte(segmentMagic), uint64(first))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli()))
}

func writeHeader(f handle, first journal.Position) error {
	_, err := f.WriteAt(header(first), 0)
	return errors.Join(err, f.Sync())
}

// Append implements [journal.Store].
func (s *Store) Append(_ context.Context, entry []byte) error {
	if len(entry) == 0 || len(entry) > maxData {
		return fault.Newf("file", journal.ErrSize, "entry of %d bytes, want 1 to %d", len(entry), maxData)
	}
	s.appending.Lock()
	defer s.appending.Unlock()
	g, at, err := s.last()
	if err != nil {
		return err
	}
	if g.end >= s.full {
		if g, err = s.rotate(); err != nil {
			return err
		}
	}
	b := appendFrame(s.frame[:0], at, entry)
	if s.frame = b; cap(b) > 1<<20 {
		s.frame = nil
	}
	if _, err := g.file.WriteAt(b, g.end); err != nil {
		// Synced, so that no part of this frame is behind the next one after a crash.
		if bad := errors.Join(g.file.Truncate(g.end), g.file.Sync()); bad != nil {
			return s.fail(errors.Join(err, bad))
		}
		return fault.New("file", segmentName(g.first), err) // nothing is there: it may be tried again
	}
	if err := g.file.Sync(); err != nil {
		return s.fail(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.segments[len(s.segments)-1].end = g.end + int64(len(b))
	s.next++
	close(s.grown)
	s.grown = make(chan struct{})
	return nil
}

// last returns the segment and the position of the next entry, or why there is none.
func (s *Store) last() (g segment, at journal.Position, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return segment{}, 0, s.failed // a closed store has no segments
	}
	return s.segments[len(s.segments)-1], s.next, nil
}

// rotate begins a new segment for an append. A file or name that may not be durable is not
// tried again: a later sync can succeed although an earlier one has lost data.
func (s *Store) rotate() (segment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(); err != nil {
		return segment{}, s.failLocked(fmt.Errorf("%s: %w", segmentName(s.next), err))
	}
	return s.segments[len(s.segments)-1], nil
}

// refused returns why the store takes nothing more, nil if it does.
func (s *Store) refused() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// fail refuses all entries from now on.
func (s *Store) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failLocked(err)
}

func (s *Store) failLocked(err error) error {
	if s.failed == nil {
		s.failed = fault.New("file", fault.Bare(journal.ErrFailed), err, journal.ErrFailed)
		close(s.grown)
		s.grown = make(chan struct{})
	}
	return s.failed
}

// Close closes the files and ends the lock. Walks in progress end with [journal.ErrFailed].
// Another Close has no effect.
func (s *Store) Close() error {
	s.appending.Lock()
	defer s.appending.Unlock()
	s.replacing.Lock()
	defer s.replacing.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	_ = s.fail(journal.ErrClosed)
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.closeSegments(), s.disk.close())
}

func (s *Store) closeSegments() (err error) {
	for _, g := range s.segments {
		err = errors.Join(err, g.file.Close())
	}
	s.segments = nil
	return err
}
