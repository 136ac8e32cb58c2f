package journal

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

const (
	// reapStep is how many allocations of an expired session are released at a time,
	reapStep = 1024
	// reapEvery apart.
	reapEvery = 50 * time.Millisecond
	// spentFor is the number of TTLs for which a release counts.
	spentFor = 10
)

// Ephemeral registers a scheduler that ends with the session of this process: by Close, or
// when the session expires. Its allocations are released then, while those of a scheduler that
// [omega.Cell.Take] returns stay for a successor. Its name is name, "@session-" and the number
// of the session. No other scheduler may have such a name.
//
// Ephemeral waits until sessions expire in the journal: see [Config]. Errors: those of
// [omega.Cell.Take], the cause of ctx, and [resources.ErrQuantity] if the Config has no TTL.
func (c *Cell) Ephemeral(ctx context.Context, name string, limits omega.Limits) (*omega.Scheduler, error) {
	if !c.tends() {
		return nil, fault.Newf("journal", resources.ErrQuantity, "scheduler %s that ends with its session: TTL of 0, want more", fault.Quote(name))
	}
	if err := c.reaches(ctx, expiring); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.tending.holds = true
	c.mu.Unlock()
	return c.Take(ctx, name+suffix(c.began), limits)
}

// Reap has all released that expired sessions still hold, whatever the Share of [Config]. It
// returns once the journal has that, before it is done. Errors: as for [Cell.Sync].
func (c *Cell) Reap(ctx context.Context) error {
	if !c.tends() {
		return fault.New("journal", "reap without a TTL", resources.ErrQuantity)
	}
	return c.tell(ctx, keeping{action: askShare})
}

// tell appends a keepEntry.
func (c *Cell) tell(ctx context.Context, k keeping) error {
	done := make(chan error, 1)
	c.put(sending{keeps: k, done: done})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reap releases the room of expired sessions, while this session is the one to do so.
func (c *Cell) reap() {
	defer func() {
		c.mu.Lock()
		c.tending.reaping = false
		c.mu.Unlock()
		signal(c.tending.stir)
	}()
	own := make(map[string]*omega.Scheduler)
	for {
		c.mu.Lock()
		var of Position
		if s := &c.state; len(s.expired) > 0 && s.reaper() == c.session && c.err == nil && !c.closing {
			of = s.expired[0]
		}
		c.mu.Unlock()
		if of == 0 {
			return
		}
		moved := 0
		gone, err := c.evict(c.life, of, own, func(ctx context.Context, held []omega.Allocation) (n int, err error) {
			n, err = c.affordable(ctx, held)
			moved += n
			return n, err
		})
		if gone && err == nil {
			err = c.tell(c.life, keeping{action: settleSession, args: [2]uint64{uint64(of)}})
		}
		wait := reapEvery
		switch {
		case err != nil:
			clear(own) // they may have been replaced
		case gone:
			continue
		case moved == 0:
			wait = max(wait, c.cfg.TTL/3)
		}
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
		case <-c.life.Done():
			pause.Stop()
			return
		}
	}
}

// evict releases some of what the schedulers of a session hold, as far as afford allows, and
// ends those that hold nothing. It reports whether all have ended. The schedulers that it has
// replaced are in own.
func (c *Cell) evict(ctx context.Context, of Position, own map[string]*omega.Scheduler, afford func(context.Context, []omega.Allocation) (int, error)) (gone bool, err error) {
	gone = true
	for _, one := range c.Stats() {
		if !strings.HasSuffix(one.Name, suffix(of)) {
			continue
		}
		s := own[one.Name]
		if s == nil {
			if s, err = c.Take(ctx, one.Name, omega.Limits{}); err != nil {
				return false, err
			}
			own[one.Name] = s
		}
		var held []omega.Allocation
		for a := range s.Allocations() {
			if held = append(held, a); len(held) == reapStep {
				break
			}
		}
		if len(held) == 0 {
			for m := range s.Marked() {
				if err := s.Release(m.Allocation.ID); err != nil {
					return false, err
				}
			}
			if err := s.Leave(); errors.Is(err, omega.ErrHolding) {
				gone = false // others have to stop first
			} else if err != nil {
				return false, err
			} else {
				delete(own, one.Name)
			}
			continue
		}
		gone = false
		n, err := afford(ctx, held)
		if err != nil {
			return false, err
		}
		var tx omega.Txn
		for _, a := range held[:n] {
			tx.Release(a.ID)
		}
		if n == 0 {
			continue
		}
		if _, err := s.CommitContext(ctx, &tx); err != nil {
			return false, err
		}
	}
	return gone, nil
}

// affordable returns how many of some allocations may be released now, and notes that in the
// journal, for the process that goes on if this one stops.
func (c *Cell) affordable(ctx context.Context, held []omega.Allocation) (n int, err error) {
	var total resources.Vector
	for m := range c.Machines() {
		total = total.Add(m.Capacity)
	}
	c.mu.Lock()
	t, left := &c.tending, c.cfg.Share
	if t.asked {
		c.mu.Unlock()
		return len(held), nil
	}
	c.forget()
	for _, one := range t.spent {
		left -= one.share
	}
	whole := len(t.spent) == 0
	c.mu.Unlock()
	var sum resources.Vector
	share := 0.0
	for _, a := range held {
		more := sum.Add(a.Need)
		then, _, _ := more.DominantShare(total)
		if then > left && (n > 0 || !whole) {
			break
		}
		n, sum, share = n+1, more, then
	}
	if n == 0 {
		return 0, nil
	}
	return n, c.tell(ctx, keeping{action: spendShare, args: [2]uint64{uint64(min(share, 1) * 1e6)}})
}

// vacate ends this process' schedulers that end with its session.
func (c *Cell) vacate(ctx context.Context) {
	c.mu.Lock()
	holds := c.tending.holds && c.err == nil
	c.mu.Unlock()
	if !holds {
		return
	}
	var ending sync.WaitGroup
	ending.Go(func() {
		own, moved := make(map[string]*omega.Scheduler), 1
		for gone := false; !gone && moved > 0 && ctx.Err() == nil; { // the others see to the rest
			var err error
			moved = 0
			gone, err = c.evict(ctx, c.began, own, func(_ context.Context, held []omega.Allocation) (int, error) {
				moved += len(held)
				return len(held), nil
			})
			if err != nil {
				return
			}
			if gone {
				c.mu.Lock()
				c.tending.holds = false
				c.mu.Unlock()
			}
		}
	})
	_ = until(ctx, &ending) // calls without a context end with the journal
}
