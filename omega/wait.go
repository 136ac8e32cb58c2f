package omega

import (
	"context"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/internal/atomics"
	"github.com/cellsched/cellsched/resources"
)

// waiters are the schedulers that wait for room, in the order in which they
// came.
//
// No wake-up is lost: who waits is counted before it looks at the cell for the
// last time, and who frees room looks at the count after it has done so; both
// are sequentially consistent, so one of them sees the other.
type waiters struct {
	count atomics.Int32

	mu    atomics.Mutex
	line  []*waiter
	ticks uint64 // given to waiters as they come
}

// waiter is one scheduler in Wait.
type waiter struct {
	need  resources.Vector
	owner *owner
	tick  uint64
	woken atomics.Event[baton] // fired by whoever took the waiter out of the line
}

// baton is the duty to see to it that room on a machine is offered to the next
// who waits for it. It goes to those only who came before it was made, so it
// goes around once.
type baton struct {
	node  uint32
	tick  uint64
	valid bool
}

// Wait blocks until something has changed in the cell, since the scheduler's
// snapshot last saw it, that could let need fit: it returns nil once a machine
// that has changed since then has room for it and may be claimed by the
// scheduler, or that has room and may be claimed only since then. It returns at
// once if there is one already. The snapshot is fresh when Wait returns nil.
//
// Room that is freed wakes one scheduler for which it is enough, the one that
// has waited longest. That one holds the baton: its next Commit passes it on,
// to the next for whom there is room left on the machine, and so does its
// next Wait or a call of [Scheduler.Pass], if it has no use for the room. Who does none
// of these keeps the others asleep.
//
// It may return although there is no room when another scheduler was replaced
// or its own permissions were changed. [Snapshot.Age] does not notice that it
// refreshes. Where nobody waits, freeing room costs one load more; where
// somebody does, a short mutex. Errors: the context's cause;
// [resources.ErrQuantity]; [ErrSuperseded].
func (s *Scheduler) Wait(ctx context.Context, need resources.Vector) error {
	if err := need.Check(); err != nil {
		return err
	}
	s.Pass()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c := s.cell
	snap := s.snapshot() // not filled if it is new: all that there is has changed then
	w := &waiter{need: need, owner: s.owner, woken: atomics.NewEvent[baton]()}
	c.enter(w)
	fits, woken := snap.news(&need), false
	if !fits && !s.superseded() {
		if s.baton, woken = w.woken.Wait(ctx); woken {
			snap.update(nil)
		}
	}
	if !woken && !c.leave(w) {
		s.baton, _ = w.woken.Wait(context.Background()) // woken just now
	}
	switch {
	case s.superseded():
		s.Pass()
		return s.supersededError()
	case fits || woken:
		return nil
	}
	s.Pass()
	return context.Cause(ctx)
}

// news refreshes the snapshot and tells whether something that it had not seen
// before lets need fit: a machine that has changed, or another mask.
func (s *Snapshot) news(need *resources.Vector) (fits bool) {
	mask := s.owner.mask.Load()
	permitted := mask != s.mask
	s.update(func(node int) {
		fits = fits || resources.Fits(need, &s.free[node]) && (mask == nil || mask.Has(locality.Node(node)))
	})
	if permitted && !fits {
		sparse := makeSparse(need)
		fits = s.from(&Query{}, &sparse, mask, 0) >= 0
	}
	return fits
}

// Pass hands on the baton that the scheduler was given when it was woken, if
// it still has it.
func (s *Scheduler) Pass() {
	if b := s.baton; b.valid {
		s.baton = baton{}
		s.cell.offer(b)
	}
}

// waiting tells whether anybody waits.
func (c *Cell) waiting() bool { return c.waiters.count.Load() > 0 }

// enter puts w at the end of the line.
func (c *Cell) enter(w *waiter) {
	ws := &c.waiters
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.ticks++
	w.tick = ws.ticks
	ws.line = append(ws.line, w)
	ws.count.Store(int32(len(ws.line)))
}

// leave takes w out of the line, and returns false if it was taken out before.
func (c *Cell) leave(w *waiter) bool {
	ws := &c.waiters
	ws.mu.Lock()
	defer ws.mu.Unlock()
	i := slices.Index(ws.line, w)
	if i < 0 {
		return false
	}
	ws.remove(i)
	return true
}

func (ws *waiters) remove(i int) {
	ws.line = slices.Delete(ws.line, i, i+1)
	ws.count.Store(int32(len(ws.line)))
}

// wake tells one of those who wait that there may be room on a machine.
func (c *Cell) wake(node uint32) {
	if c.waiting() {
		c.offer(baton{node: node, valid: true})
	}
}

// offer gives the baton to the first in the line who came before it was made
// and whose need fits on the machine. A baton without tick is made now.
func (c *Cell) offer(b baton) {
	ws := &c.waiters
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if b.tick == 0 {
		b.tick = ws.ticks
	}
	val := load(c.words.at(b.node))
	if val.cond != Ready {
		return
	}
	for i, w := range ws.line {
		if w.tick > b.tick {
			return
		}
		if resources.Fits(&w.need, &val.free) && w.owner.mayClaim(b.node) {
			ws.remove(i)
			w.woken.Fire(b)
			return
		}
	}
}

// wakeOwner wakes those who wait for an owner whose mask has changed.
func (c *Cell) wakeOwner(o *owner) {
	c.wakeIf(func(w *waiter) bool { return w.owner == o })
}

// wakeAll wakes everybody, to look again.
func (c *Cell) wakeAll() { c.wakeIf(func(*waiter) bool { return true }) }

func (c *Cell) wakeIf(which func(*waiter) bool) {
	if !c.waiting() {
		return
	}
	ws := &c.waiters
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for i := len(ws.line) - 1; i >= 0; i-- {
		if w := ws.line[i]; which(w) {
			ws.remove(i)
			w.woken.Fire(baton{})
		}
	}
}
