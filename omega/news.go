package omega

import (
	"context"
	"slices"
)

// WaitNews blocks until there is news that no earlier call has returned for:
//
//   - an allocation of the scheduler was preempted or lost (told once, here or by
//     WaitMark);
//   - another scheduler has begun to wait for room, or reserved some;
//   - a machine was added, changed or removed.
//
// The first call returns at once. A scheduler that holds unused room gives it back while
// [Scheduler.Wanted] is true. Any goroutine may call it at any time. From the first call
// on, a Wait of another scheduler and a change of a machine cost a short mutex for each
// listener. Errors: the context's cause; [ErrSuperseded]; [ErrLeft].
func (s *Scheduler) WaitNews(ctx context.Context) error {
	switch {
	case s.none():
		return absent("scheduler")
	case ctx == nil:
		return absent("context")
	}
	s.cell.listen(s.owner)
	return s.watch(ctx, s.news)
}

// news reports whether there is something to tell of, and takes that as told.
func (s *Scheduler) news() bool {
	marked := s.marked()
	// Of several calls one tells of it at least: the number only rises.
	there, told := s.owner.heard.Load(), s.heard.Load()
	return there != told && s.heard.CompareAndSwap(told, there) || marked
}

// listen has an owner told of events from now on.
func (c *Cell) listen(o *owner) {
	ws := &c.waiters
	for {
		old := ws.listeners.Load()
		var all []*owner
		if old != nil {
			if slices.Contains(*old, o) {
				return
			}
			all = slices.DeleteFunc(slices.Clone(*old), func(other *owner) bool { return other.left.Load() })
		}
		all = append(all, o)
		if ws.listeners.CompareAndSwap(old, &all) {
			break
		}
	}
	o.heard.Add(1)
}

// tellNews tells those that listen, but for one, of an event.
func (c *Cell) tellNews(but *owner) {
	all := c.waiters.listeners.Load()
	if all == nil {
		return
	}
	for _, o := range *all {
		if o != but && !o.left.Load() {
			o.heard.Add(1)
			o.watchers.tell(c)
		}
	}
}

// Wanted reports whether another scheduler waits for room, in a Wait or by a reservation.
// Safe for concurrent use. Cost: one load where none waits, else a short mutex.
func (s *Scheduler) Wanted() bool {
	switch {
	case s.none():
		return false
	case slices.ContainsFunc(s.cell.reserved(), func(r lined) bool { return r.owner != s.owner }):
		return true
	case !s.cell.waiting():
		return false
	}
	ws := &s.cell.waiters
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return slices.ContainsFunc(ws.line, func(w *waiter) bool { return w.owner != s.owner })
}
