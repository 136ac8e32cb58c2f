package file

import (
	"context"
	"errors"
	"io"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega/journal"
)

// Checkpoint implements [journal.Store].
func (s *Store) Checkpoint(context.Context) (journal.Position, io.ReadCloser, error) {
	s.replacing.Lock()
	defer s.replacing.Unlock()
	if err := s.refused(); err != nil {
		return 0, nil, err
	}
	if !s.saved {
		return 0, nil, nil
	}
	f, err := s.disk.open(checkpointName(s.checkpoint))
	if err != nil {
		return 0, nil, fault.New("file", "checkpoint", err)
	}
	size, err := f.size()
	if err != nil {
		return 0, nil, errors.Join(fault.New("file", "checkpoint", err), f.Close())
	}
	return s.checkpoint, reader{io.NewSectionReader(f, 0, size), f}, nil
}

// reader is the content of a file from its beginning.
type reader struct {
	io.Reader
	io.Closer
}

// Replace implements [journal.Store]. It writes a new file, and drops the old one and whole
// segments once that is durable.
func (s *Store) Replace(ctx context.Context, at journal.Position, save func(io.Writer) error) error {
	s.replacing.Lock()
	defer s.replacing.Unlock()
	if err := s.refused(); err != nil {
		return err // another process may have the folder by now
	}
	if s.saved && at <= s.checkpoint {
		return nil
	}
	if err := s.write(ctx, at, save); err != nil {
		return fault.New("file", checkpointName(at), err)
	}
	old, had := s.checkpoint, s.saved
	s.checkpoint, s.saved = at, true
	if had {
		_ = s.disk.remove(checkpointName(old)) // the next Open removes what is left
	}
	s.trim(at)
	return nil
}

// write writes a checkpoint under another name, and renames it once it is durable.
func (s *Store) write(ctx context.Context, at journal.Position, save func(io.Writer) error) error {
	f, err := s.disk.open(temporary)
	if err != nil {
		return err
	}
	err = f.Truncate(0)
	if err == nil {
		err = save(&writer{ctx: ctx, file: f})
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return errors.Join(s.disk.rename(temporary, checkpointName(at)), s.disk.sync())
}

// writer appends to a file until a context ends.
type writer struct {
	ctx  context.Context //nolint:containedctx // of the call that it lives in
	file handle
	at   int64
}

func (w *writer) Write(b []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	n, err := w.file.WriteAt(b, w.at)
	w.at += int64(n)
	return n, err
}

// trim removes the segments that have nothing behind a position.
func (s *Store) trim(at journal.Position) {
	s.mu.Lock()
	var gone []segment
	for len(s.segments) > 1 && s.segments[1].first <= at+1 {
		gone = append(gone, s.segments[0])
		s.segments = s.segments[1:]
	}
	s.mu.Unlock()
	for _, g := range gone {
		_ = errors.Join(g.file.Close(), s.disk.remove(segmentName(g.first))) // as for a checkpoint
	}
}
