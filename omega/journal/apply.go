package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cellsched/cellsched/omega"
)

// read applies the entries of the store, until ctx ends or the journal fails. It tells began
// once the begin of this process's session was applied, or why that will not be.
func (c *Cell) read(ctx context.Context, nonce []byte, began chan<- error) {
	var err error
	for wait := c.cfg.Retry / 1000; ; wait = min(2*wait+1, c.cfg.Retry) {
		before := c.state.at
		if err = c.follow(ctx, nonce, began); ctx.Err() != nil {
			err = context.Cause(ctx)
			break
		}
		if lasting(err) {
			break
		}
		if c.state.at > before {
			wait = c.cfg.Retry / 1000
		}
		retry := time.NewTimer(wait)
		select {
		case <-retry.C:
		case <-ctx.Done():
			retry.Stop()
		}
	}
	c.fail(err)
	select {
	case began <- err:
	default: // it is known that the session has begun
	}
	c.stop(err)
}

// lasting reports whether an error of reading is one that a later try has too.
func lasting(err error) bool {
	for _, one := range []error{ErrFailed, ErrTrimmed, ErrDamaged, ErrVersion, ErrForked, ErrDiverged, ErrExpired, omega.ErrDamaged, omega.ErrVersion, omega.ErrSpace} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// follow applies the entries of the store from the present position on.
func (c *Cell) follow(ctx context.Context, nonce []byte, began chan<- error) error {
	for e, err := range c.store.Read(ctx, c.state.at) {
		if err != nil {
			return err
		}
		if e.At != c.state.at+1 {
			return fmt.Errorf("%w: entry %d behind entry %d", ErrDamaged, e.At, c.state.at)
		}
		if err := c.apply(e, nonce, began); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// apply applies one entry.
func (c *Cell) apply(at Entry, nonce []byte, began chan<- error) error {
	e, err := decodeEntry(at.Data)
	if errors.Is(err, ErrVersion) {
		return fmt.Errorf("position %d: %w", at.At, err)
	}
	s := &c.state
	if err == nil {
		if err := s.compare(&e); err != nil {
			return err
		}
	}
	s.follow(at)
	var own []sending
	mine, applied := c.mine(&e), false
	switch {
	case err != nil:
		err = errSkipped // in every copy
	case e.kind == beginEntry:
		err = c.applyBegin(at.At, &e, nonce)
	case s.sessions[e.session] == 0: // it has ended
		if mine {
			err = fmt.Errorf("%w: at position %d", ErrExpired, at.At)
		}
	case e.number <= s.sessions[e.session]: // it was sent again
	case e.number != s.sessions[e.session]+1:
		err = fmt.Errorf("%w: entry %d of session %d behind its entry %d", ErrForked, e.number, e.session, s.sessions[e.session])
	default:
		s.sessions[e.session], applied = e.number, mine
		if own, err = c.applyOps(&e, mine); e.kind == endEntry {
			delete(s.sessions, e.session)
			c.ended(mine)
		}
	}
	if errors.Is(err, errSkipped) {
		s.skipped++
		err = nil
	}
	if err != nil {
		return err
	}
	s.settle()
	c.applyDone(at, own)
	switch {
	case applied:
		signal(c.applied)
	case e.kind == beginEntry && bytes.HasPrefix(e.body, nonce):
		select {
		case began <- nil:
		default: // it was sent again
		}
	}
	return nil
}

var errSkipped = errors.New("journal: operation that can not be decoded")

// mine reports whether an entry is of this process's session.
func (c *Cell) mine(e *entry) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session != 0 && c.session == e.session
}

// ended notes the end of this process's session: the entry may have been sent twice.
func (c *Cell) ended(mine bool) {
	if mine {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.session = 0
	}
}

// applyBegin begins a session, with the first state of the cell if there is none.
func (c *Cell) applyBegin(at Position, e *entry, nonce []byte) error {
	if len(e.body) < nonceSize {
		return errSkipped
	}
	if c.state.cell == nil {
		cell, err := omega.Restore(bytes.NewReader(e.body[nonceSize:]), c.cfg.First.Space)
		if err != nil {
			return fmt.Errorf("journal: first state at position %d: %w", at, err)
		}
		if err := cell.SetJournal((*batcher)(c)); err != nil {
			return err
		}
		c.state.cell = cell
	}
	c.state.begin(at)
	if bytes.HasPrefix(e.body, nonce) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.number == 0 { // else it was sent again
			c.session, c.number = at, 1
		}
	}
	return nil
}

// applyOps applies the operations of an entry. It returns the parts of an entry of this
// process, which are applied to the transactions of their callers.
func (c *Cell) applyOps(e *entry, mine bool) (own []sending, err error) {
	if mine {
		c.mu.Lock()
		own, c.flight = c.flight, nil
		c.mu.Unlock()
		for i := range own {
			if op := own[i].op; op != nil {
				c.state.outcome(op.Apply())
			}
		}
		return own, nil
	}
	for body := e.body; len(body) > 0; {
		var op []byte
		if op, body, err = nextOp(body); err != nil {
			return nil, errSkipped
		}
		digest, bad := c.state.cell.Apply(op)
		if bad != nil {
			c.state.skipped++
		}
		c.state.outcome(digest)
	}
	return nil, nil
}

// applyDone tells of an entry that was applied, and begins the checkpoints that are due.
func (c *Cell) applyDone(at Entry, own []sending) {
	s := &c.state
	c.mu.Lock()
	c.checked = check{s.at, s.log, s.digest}
	c.mu.Unlock()
	c.unsaved += int64(len(at.Data))
	for i := range own {
		switch {
		case own[i].saves:
			c.checkpoint(own[i].done, false)
		case own[i].op == nil:
			own[i].done <- nil
		}
	}
	if c.unsaved >= c.cfg.Checkpoint {
		select {
		case c.saving <- struct{}{}:
			c.checkpoint(make(chan error, 1), true)
		default: // the next entry asks again
		}
	}
}

// checkpoint writes a checkpoint of the present state, beside the entries that follow. One is
// written at a time: its goroutine has the token, or waits for it.
func (c *Cell) checkpoint(done chan<- error, token bool) {
	c.unsaved = 0
	at, header, cut := c.state.at, c.state.header(), c.state.cell.Cut()
	c.running.Go(func() {
		if !token {
			select {
			case c.saving <- struct{}{}:
			case <-c.life.Done():
				done <- context.Cause(c.life)
				return
			}
		}
		defer func() { <-c.saving }()
		done <- c.store.Replace(c.life, at, func(w io.Writer) error {
			if _, err := w.Write(header); err != nil {
				return err
			}
			return cut.Save(w)
		})
	})
}
