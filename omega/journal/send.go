package journal

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
)

// batcher is the journal of the cell in a Cell.
type batcher Cell

// Append puts op in the queue.
func (b *batcher) Append(op *omega.Operation) { (*Cell)(b).put(sending{op: op}) }

// put puts s in the queue, or fails it.
func (c *Cell) put(s sending) {
	s.since = time.Now()
	c.mu.Lock()
	err := c.err
	if err == nil && c.closing {
		err = ErrClosed
	}
	if err == nil {
		c.queue = append(c.queue, s)
	}
	c.mu.Unlock()
	if err != nil {
		s.fail(err)
		return
	}
	signal(c.wake)
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func (s *sending) fail(err error) {
	if s.op != nil {
		s.op.Fail(err)
	} else {
		s.done <- err
	}
}

// send appends the queue, an entry at a time, until the session has ended.
func (c *Cell) send() {
	var data []byte
	for {
		e, ok := c.batch()
		if !ok {
			select {
			case <-c.wake:
				continue
			case <-c.life.Done():
				return
			}
		}
		data = e.encode(data[:0])
		applied, err := c.append(data)
		if errors.Is(err, ErrSize) && c.resize(len(data), err) {
			continue
		}
		if err != nil {
			c.fail(err)
			return
		}
		if !applied {
			select {
			case <-c.applied:
			case <-c.life.Done():
				return
			}
		}
		if e.kind == endEntry {
			return
		}
	}
}

// batch makes the next entry, if there is something to send.
func (c *Cell) batch() (e entry, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e = entry{version: c.writes(), kind: opsEntry, session: c.session, applied: c.checked.at, log: c.checked.log, state: c.checked.digest}
	switch {
	case c.err != nil:
		return e, false
	case len(c.queue) == 0 && c.closing:
		c.ends(&e)
	case len(c.queue) == 0:
		return e, false
	}
	n := c.keeps(&e)
	for alone := n > 0; !alone && n < len(c.queue) && c.queue[n].keeps.action == 0; n++ {
		if op := c.queue[n].op; op != nil {
			b := op.Bytes()
			if n > 0 && len(e.body)+binary.MaxVarintLen64+len(b) > c.largest {
				break // goes into the next entry
			}
			e.body = append(binary.AppendUvarint(e.body, uint64(len(b))), b...)
			alone = len(e.body) > c.largest // no call of Sync is refused with it
		}
	}
	c.flight = append(c.flight[:0], c.queue[:n]...)
	rest := copy(c.queue, c.queue[n:])
	clear(c.queue[rest:])
	c.queue = c.queue[:rest]
	c.number++
	e.number = c.number
	return e, true
}

// resize follows the refusal of an entry that was too large for the store, which has not
// kept it. An operation that is too large alone fails. Several go into smaller entries: these
// and all later ones have half the size at most. It returns false for an entry of this package
// that no smaller one replaces.
func (c *Cell) resize(size int, err error) bool {
	c.mu.Lock()
	c.number--
	flight := c.flight
	c.flight = nil
	if len(flight) > 1 {
		c.largest = min(c.largest, size) / 2
		c.queue = append(flight, c.queue...)
		flight = nil
	} else if len(flight) == 0 {
		c.mu.Unlock()
		return false
	}
	c.mu.Unlock()
	for i := range flight {
		flight[i].fail(fault.New("journal", "", err))
	}
	return true
}

// append appends an entry, again and again while the outcome is unknown. It reports
// whether the log has returned the entry, and this process has applied it,
// meanwhile. Then append has consumed the signal of c.applied.
func (c *Cell) append(data []byte) (applied bool, err error) {
	for wait := longestWait / 1000; ; wait = min(2*wait+1, longestWait) {
		err := c.store.Append(c.life, data)
		c.stalled(&c.unsent, err)
		switch {
		case err == nil:
			return false, nil
		case lasting(err), errors.Is(err, ErrSize):
			return false, err
		}
		retry := time.NewTimer(wait)
		select {
		case <-c.applied:
			retry.Stop()
			return true, nil
		case <-retry.C:
		case <-c.life.Done():
			retry.Stop()
			return false, errors.Join(context.Cause(c.life), err)
		}
	}
}

// fail ends the journal. The outcome of what is in flight is unknown then; what is in the
// queue was not sent.
func (c *Cell) fail(err error) {
	c.mu.Lock()
	if c.err == nil {
		if c.err = err; !errors.Is(err, ErrClosed) && !errors.Is(err, ErrFailed) {
			c.err = failed(err)
		}
	}
	err = c.err
	flight, queue := c.flight, c.queue
	c.flight, c.queue = nil, nil
	c.mu.Unlock()
	for i := range flight {
		flight[i].fail(fault.New("omega", fault.Bare(omega.ErrOutcome), err, omega.ErrOutcome))
	}
	for i := range queue {
		queue[i].fail(err)
	}
}

// failed returns the error of a journal that takes no more changes, with the reason.
func failed(err error) error { return fault.New("journal", fault.Bare(ErrFailed), err, ErrFailed) }

// Err returns nil while the journal takes changes, else the reason that it does not: an
// error that wraps [ErrFailed] or [ErrClosed].
func (c *Cell) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil && c.closing {
		return ErrClosed
	}
	return c.err
}

// Lag returns how long the oldest change has waited that was sent and is not applied yet, 0
// if there is none.
func (c *Cell) Lag() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, list := range [][]sending{c.flight, c.queue} {
		if len(list) > 0 {
			return time.Since(list[0].since)
		}
	}
	return 0
}

// stalled notes the error of an append or of a walk, nil for one that goes on.
func (c *Cell) stalled(why *error, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*why = err
}

// Stall returns nil while the store takes and returns entries, else the error for which an
// append or a walk is being tried again, such as that of a full disk. It says nothing of a
// call of the store that does not return: see [Cell.Lag].
func (c *Cell) Stall() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.unsent != nil:
		return fault.New("journal", "append is tried again", c.unsent)
	case c.unread != nil:
		return fault.New("journal", "walk is begun again", c.unread)
	}
	return nil
}

// Position returns the position of the last entry that the cell has applied.
func (c *Cell) Position() Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.checked.at
}

// Sync waits until the cell has applied all that any process was acknowledged before the
// call. Snapshots that are refreshed afterwards show it. Cost: an append. Errors: as for
// [Cell.Err], and the cause of ctx.
func (c *Cell) Sync(ctx context.Context) error { return c.ask(ctx, false) }

// Checkpoint writes a checkpoint of the cell as it is now, and lets the store drop the
// entries before it. Commits go on meanwhile. [Config] says when it happens unasked. Errors:
// those of the store, as for [Cell.Err], and the cause of ctx.
func (c *Cell) Checkpoint(ctx context.Context) error { return c.ask(ctx, true) }

func (c *Cell) ask(ctx context.Context, saves bool) error {
	done := make(chan error, 1)
	c.put(sending{done: done, saves: saves})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Saved returns the position of the last checkpoint, 0 for none, and the error of a later one
// that has failed. The cell goes on without a checkpoint: the store keeps more entries, and
// the next Open applies more. Another one is tried after an eighth of [Config.Checkpoint].
func (c *Cell) Saved() (Position, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.saved, c.unsaid
}

// Close ends the session once the changes that were sent before are kept. It releases what
// schedulers of [Cell.Ephemeral] hold, and nothing else. Later changes fail with [ErrClosed]. If ctx ends first, the outcome of
// changes in progress is unknown, and Close does not wait for calls of the store to return.
// The store stays open: it is its opener's. Errors: as for [Cell.Err] of a journal that has
// failed, and the cause of ctx.
func (c *Cell) Close(ctx context.Context) error {
	c.vacate(ctx)
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	signal(c.wake)
	err := until(ctx, &c.ending)
	if err != nil {
		c.fail(ErrClosed) // calls of the store may not return
	}
	c.stop(ErrClosed)
	if stuck := until(ctx, &c.running); err == nil {
		err = stuck
	}
	if failed := c.Err(); err == nil && errors.Is(failed, ErrFailed) {
		err = failed
	}
	return err
}

// until waits for goroutines to end, or for ctx.
func until(ctx context.Context, running *sync.WaitGroup) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		running.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
