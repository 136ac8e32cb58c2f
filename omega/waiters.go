package omega

import (
	"slices"
	"time"

	"github.com/cellsched/cellsched/omega/internal/atomics"
	"github.com/cellsched/cellsched/resources"
)

// waiters are the schedulers that wait for room, in the order in which they came.
//
// No wake-up is lost. A waiter is counted before it looks at the cell for the last
// time. A commit that frees room looks at the count after it has done so. Both are
// sequentially consistent, so one of them sees the other.
type waiters struct {
	count atomics.Int32

	mu    atomics.Mutex
	line  []*waiter
	ticks uint64 // given to waiters as they come

	listeners atomics.Pointer[[]*owner] // of which a WaitNews was called; replaced, never written through
}

// waiter is one call of Wait, or of WaitMark, which has no demands.
type waiter struct {
	demands
	owner *owner
	tick  uint64                   // of its arrival; the line is sorted by it
	woken atomics.Event[wakeToken] // fired by the one that took the waiter out of the line
}

// wakeToken is the duty to offer the room of a machine to the next waiter for which it
// is enough. It goes only to waiters that came before it was made and have not declined
// it, so it goes around once. The zero token carries no machine: the waiter looks at the
// cell again.
type wakeToken struct {
	node  uint32
	tick  uint64 // of the last waiter that it may go to
	after uint64 // tick of the last gang that had no use for it yet
	valid bool
}

// finds reports whether a machine has room for one of the needs that w waits for, or for a
// reservation of its scheduler's.
func (w *waiter) finds(val *version) bool {
	if !val.keeps {
		free := val.free()
		return w.usable(&free)
	}
	room := val.roomFor(w.owner, time.Time{})
	return w.usable(&room) || val.fillsOne(w.owner)
}

// waiting reports whether any scheduler waits.
func (c *Cell) waiting() bool { return c.waiters.count.Load() > 0 }

// enter puts w in the line: at the end if it comes for the first time, else where
// it was.
func (c *Cell) enter(w *waiter) {
	if c.line(w) {
		c.tellNews(w.owner)
	}
}

// line is enter, and reports whether w is in the line for the first time.
func (c *Cell) line(w *waiter) (first bool) {
	ws := &c.waiters
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if first = w.tick == 0; first {
		ws.ticks++
		w.tick = ws.ticks
	}
	at := len(ws.line)
	for at > 0 && ws.line[at-1].tick > w.tick {
		at--
	}
	ws.line = slices.Insert(ws.line, at, w)
	ws.count.Store(int32(len(ws.line)))
	return first
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

// wake tells one waiting scheduler that there may be room on a machine.
func (c *Cell) wake(node uint32) {
	if c.waiting() {
		c.offer(wakeToken{node: node, valid: true})
	}
}

// offer gives the token to the first in the line that it may go to and for which
// there is room on the machine. A token without tick is made now.
func (c *Cell) offer(b wakeToken) {
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
		if w.tick > b.after && w.finds(val) && w.owner.mayClaim(b.node) {
			ws.remove(i)
			w.woken.Fire(b)
			return
		}
	}
}

// wakeOwner wakes the waits of an owner after a change of its mask.
func (c *Cell) wakeOwner(o *owner) {
	c.wakeIf(func(w *waiter) bool { return w.owner == o })
}

// wakeAll wakes all waiting schedulers, to look again.
func (c *Cell) wakeAll() { c.wakeIf(func(*waiter) bool { return true }) }

// wakeHoped wakes those that could use a machine which has less capacity now, or
// none: they may wait for ever.
func (c *Cell) wakeHoped(capacity *resources.Vector) {
	c.wakeIf(func(w *waiter) bool { return w.usable(capacity) })
}

// wakeIf has those look again that are chosen. They keep their places.
func (c *Cell) wakeIf(which func(*waiter) bool) {
	if !c.waiting() {
		return
	}
	ws := &c.waiters
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.line = slices.DeleteFunc(ws.line, func(w *waiter) bool {
		chosen := which(w)
		if chosen {
			w.woken.Fire(wakeToken{})
		}
		return chosen
	})
	ws.count.Store(int32(len(ws.line)))
}
