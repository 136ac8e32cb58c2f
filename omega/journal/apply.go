package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
)

// read applies the entries of the store, until the cell's life ends or the journal fails.
func (c *Cell) read() {
	var err error
	for wait := longestWait / 1000; ; wait = min(2*wait+1, longestWait) {
		before := c.state.at
		if err = c.follow(); c.life.Err() != nil {
			err = context.Cause(c.life)
			break
		}
		if lasting(err) {
			break
		}
		c.stalled(&c.unread, err)
		if c.state.at > before {
			wait = longestWait / 1000
		}
		retry := time.NewTimer(wait)
		select {
		case <-retry.C:
		case <-c.life.Done():
			retry.Stop()
		}
	}
	c.fail(err)
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
func (c *Cell) follow() error {
	stalled := true // by the walk before, maybe
	for e, err := range c.store.Read(c.life, c.state.at) {
		if stalled && err == nil {
			c.stalled(&c.unread, nil)
			stalled = false
		}
		switch {
		case err != nil:
			return err
		case e.Data == nil && e.At != c.state.at:
			return fmt.Errorf("%w: entries end at position %d, want %d", ErrDamaged, e.At, c.state.at)
		case e.Data == nil:
			select {
			case c.opening.tail <- tail{check{c.state.at, c.state.log, c.state.digest}, c.state.version, c.state.cell == nil}:
			default: // the first one counts
			}
			continue
		case e.At != c.state.at+1:
			return fmt.Errorf("%w: entry %d behind entry %d", ErrDamaged, e.At, c.state.at)
		}
		if err := c.apply(e); err != nil {
			return err
		}
	}
	return context.Cause(c.life)
}

// apply applies one entry.
func (c *Cell) apply(at Entry) error {
	e, err := decodeEntry(at.Data)
	if errors.Is(err, ErrVersion) {
		return fault.Newf("journal", err, "position %d", at.At)
	}
	s := &c.state
	if err == nil {
		if err := s.compare(&e); err != nil {
			return err
		}
		c.raise(e.version)
	}
	s.follow(at)
	var own []sending
	mine, applied, last := c.mine(&e), false, s.sessions[e.session].number
	switch {
	case err != nil:
		err = errSkipped // in every copy
	case e.kind == beginEntry:
		applied, err = c.applyBegin(at.At, &e)
	case last == 0: // it has ended
		if mine {
			err = c.expire(at.At)
		}
	case e.number <= last: // it was sent again
	case e.number != last+1:
		err = fmt.Errorf("%w: entry %d of session %d behind its entry %d", ErrForked, e.number, e.session, last)
	default:
		applied = mine
		c.hear(&e, mine)
		switch e.kind {
		case keepEntry:
			own, err = c.applyKeep(at.At, &e, mine)
		case endEntry:
			err = c.applyEnd(&e, mine)
		default:
			own, err = c.applyOps(&e, mine)
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
	c.applyDone(at, own, mine || applied)
	if applied {
		signal(c.applied)
	}
	if applied && e.kind == beginEntry {
		c.opening.began <- struct{}{}
	}
	return nil
}

// refuse fails the operations in flight: no copy applies them.
func (c *Cell) refuse(err error) {
	c.mu.Lock()
	flight := c.flight
	c.flight = nil
	c.mu.Unlock()
	for i := range flight {
		flight[i].fail(err)
	}
}

var errSkipped = errors.New("journal: operation that cannot be decoded")

// mine reports whether an entry is of this process's session.
func (c *Cell) mine(e *entry) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session != 0 && c.session == e.session
}

// applyBegin begins a session, with the first state of the cell if there is none. It reports
// whether the session is that of this process.
func (c *Cell) applyBegin(at Position, e *entry) (mine bool, err error) {
	if len(e.body) < nonceSize {
		return false, errSkipped
	}
	if c.state.cell == nil {
		cell, err := omega.Restore(bytes.NewReader(e.body[nonceSize:]), c.cfg.First.Space)
		if err != nil {
			return false, fault.Newf("journal", err, "first state at position %d", at)
		}
		if err := cell.SetJournal((*batcher)(c)); err != nil {
			return false, err
		}
		c.state.cell = cell
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.begin(at)
	if c.tends() {
		c.tending.seen[at] = time.Now()
	}
	if c.number > 0 || c.opening.nonce == nil || !bytes.HasPrefix(e.body, c.opening.nonce) {
		return false, nil // another process's, or it was sent again
	}
	c.session, c.began, c.number = at, at, 1
	return true, nil
}

// applyOps applies the operations of an entry. It returns the parts of an entry of this
// process, whose callers wait for their outcomes. An entry whose callers were told that its
// outcome is unknown is applied like the entries of other processes.
func (c *Cell) applyOps(e *entry, mine bool) (own []sending, err error) {
	if mine {
		c.mu.Lock()
		own, c.flight = c.flight, nil
		c.mu.Unlock()
	}
	if len(own) > 0 {
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

// applyDone tells of an entry that was applied, and begins the checkpoints that are due. Where
// processes share a store, the writer of the entry at which one is due writes it.
func (c *Cell) applyDone(at Entry, own []sending, mine bool) {
	s, due := &c.state, c.cfg.Checkpoint
	c.mu.Lock()
	c.checked = check{s.at, s.log, s.digest}
	elsewhere := c.session != 0 && !mine && c.unsaid == nil
	if c.unsaid != nil {
		due /= 8
	}
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
	switch {
	case c.unsaved < due:
	case elsewhere:
		c.unsaved = 0
	default:
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
	c.mu.Lock()
	header := c.state.header() // Board.Next adds tables to the state, on any goroutine
	c.mu.Unlock()
	at, cut := c.state.at, c.state.cell.Cut()
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
		err := c.store.Replace(c.life, at, func(w io.Writer) error {
			if _, err := w.Write(header); err != nil {
				return err
			}
			return cut.Save(w)
		})
		c.checkpointed(at, err)
		done <- err
	})
}

// checkpointed notes the result of a checkpoint.
func (c *Cell) checkpointed(at Position, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.saved, c.unsaid = max(c.saved, at), nil
	case c.life.Err() == nil:
		c.unsaid = fault.Newf("journal", err, "checkpoint at position %d", at)
	}
}
