package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega/journal"
)

// readAhead is how much a walk reads at a time.
const readAhead = 256 << 10

// Read implements [journal.Store]. The data of an entry is good until the next one.
func (s *Store) Read(ctx context.Context, after journal.Position) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		w := walk{store: s, at: after + 1}
		for {
			data, grown, err := w.next()
			if err == nil && data == nil {
				if !yield(journal.Entry{At: w.at - 1}, nil) {
					return
				}
				select {
				case <-grown:
					continue
				case <-ctx.Done():
					err = context.Cause(ctx)
				}
			}
			if err == nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				yield(journal.Entry{}, err)
				return
			}
			if !yield(journal.Entry{At: w.at - 1, Data: data}, nil) {
				return
			}
		}
	}
}

// walk is a walk over the entries.
type walk struct {
	store *Store
	at    journal.Position // of the next entry
	first journal.Position // of the segment that it reads
	from  int64            // of the bytes in buf, in the segment
	buf   []byte
	used  int // bytes of buf that were walked
}

// next returns the next entry, or nil and a channel that is closed once there may be one.
func (w *walk) next() (data []byte, grown chan struct{}, err error) {
	s := w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.at >= s.next {
		return nil, s.grown, s.failed
	}
	if s.failed != nil && len(s.segments) == 0 {
		return nil, nil, s.failed
	}
	i := len(s.segments) - 1
	for i >= 0 && s.segments[i].first > w.at {
		i--
	}
	if i < 0 {
		return nil, nil, fmt.Errorf("%w: entry %d, the first is %d", journal.ErrTrimmed, w.at, s.segments[0].first)
	}
	g := &s.segments[i]
	if w.first != g.first {
		w.first, w.from, w.buf, w.used = g.first, headerSize, w.buf[:0], 0
		for at := g.first; at < w.at; at++ { // a walk that begins in the middle
			if _, err := w.frame(g, at); err != nil {
				return nil, nil, err
			}
		}
	}
	data, err = w.frame(g, w.at)
	w.at++
	return data, nil, err
}

// frame returns the data of the frame that is next in a segment.
func (w *walk) frame(g *segment, at journal.Position) ([]byte, error) {
	if err := w.fill(g, frameSize); err != nil {
		return nil, err
	}
	size, _ := headOf(w.buf[w.used:])
	if size <= g.end-w.from-int64(w.used) {
		if err := w.fill(g, int(size)); err != nil {
			return nil, err
		}
	}
	n := frameAt(w.buf[w.used:], at)
	if n == 0 {
		return nil, fmt.Errorf("%w: %s: byte %d, position %d: want a frame", journal.ErrDamaged, segmentName(g.first), w.from+int64(w.used), at)
	}
	data := w.buf[w.used+frameSize : w.used+n]
	w.used += n
	return data, nil
}

// fill reads on, until n bytes are in the buffer that were not walked.
func (w *walk) fill(g *segment, n int) error {
	if len(w.buf)-w.used >= n {
		return nil
	}
	w.from += int64(w.used)
	w.used = 0
	size := int(min(g.end-w.from, max(readAhead, int64(n))))
	if size < n {
		return fmt.Errorf("%w: %s: byte %d: want %d bytes more", journal.ErrDamaged, segmentName(g.first), w.from, n)
	}
	if cap(w.buf) < size {
		w.buf = make([]byte, size)
	}
	w.buf = w.buf[:size]
	if _, err := g.file.ReadAt(w.buf, w.from); err != nil && !errors.Is(err, io.EOF) {
		return fault.New("file", fault.Bare(journal.ErrFailed), err, journal.ErrFailed)
	}
	return nil
}
