package omega

import (
	"context"
	"slices"

	"github.com/cellsched/cellsched/omega/internal/atomics"
)

// News is a set of events of a cell that concern a scheduler which holds more than it
// uses: see [Scheduler.WaitNews].
type News uint8

// The events of a cell.
const (
	NewsMark     News = 1 << iota // an allocation of the scheduler was preempted or lost
	NewsDemand                    // another scheduler has begun to wait for room, or reserved some
	NewsMachines                  // a machine was added, changed or removed
)

// Has reports whether all events of other are in n.
func (n News) Has(other News) bool { return n&other == other }

// heard counts events: of an owner those that there were, of a Scheduler those of
// which WaitNews has told.
type heard struct{ demands, machines atomics.Uint64 }

// WaitNews blocks until there are events that no call of WaitNews has told of, and
// returns them. The first call returns all at once, so that nothing from before it is
// missed. Marks are told of once by WaitNews and WaitMark together.
//
// A scheduler that holds room which it does not use gives it back on [NewsDemand],
// once [Scheduler.Wanted] reports that it is still waited for.
//
// As WaitMark it may be called from any goroutine at any time. From the first call on,
// a Wait of another scheduler and a change of a machine cost a short mutex for each
// scheduler that listens; commits cost nothing more. Errors: the context's cause;
// [ErrSuperseded]; [ErrLeft].
func (s *Scheduler) WaitNews(ctx context.Context) (News, error) {
	switch {
	case s.none():
		return 0, absent("scheduler")
	case ctx == nil:
		return 0, absent("context")
	}
	s.cell.listen(s.owner)
	ws := &s.owner.watchers
	for {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		w := &waiter{woken: atomics.NewEvent[baton]()}
		ws.add(w)
		news, over := s.news(), s.superseded()
		if !over && news == 0 {
			if _, woken := w.woken.Wait(ctx); woken {
				continue
			}
		}
		ws.remove(w)
		switch {
		case over:
			return 0, s.supersededError()
		case news != 0:
			return news, nil
		}
	}
}

// news returns what there is to tell of, and takes that as told.
func (s *Scheduler) news() (n News) {
	if s.marked() {
		n |= NewsMark
	}
	for _, one := range [...]struct {
		of          News
		there, told *atomics.Uint64
	}{
		{NewsDemand, &s.owner.heard.demands, &s.heard.demands},
		{NewsMachines, &s.owner.heard.machines, &s.heard.machines},
	} {
		// Of several calls one tells of it at least: the number only rises.
		if there, told := one.there.Load(), one.told.Load(); there != told && one.told.CompareAndSwap(told, there) {
			n |= one.of
		}
	}
	return n
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
	o.heard.demands.Add(1)
	o.heard.machines.Add(1)
}

// tellNews tells those that listen, but for one, of an event.
func (c *Cell) tellNews(but *owner, of func(*heard) *atomics.Uint64) {
	all := c.waiters.listeners.Load()
	if all == nil {
		return
	}
	for _, o := range *all {
		if o != but && !o.left.Load() {
			of(&o.heard).Add(1)
			o.watchers.tell(c)
		}
	}
}

// tellMachines tells those that listen that a machine has changed.
func (c *Cell) tellMachines() {
	c.tellNews(nil, func(h *heard) *atomics.Uint64 { return &h.machines })
}

// Wanted reports whether another scheduler waits for room: in a Wait that has not
// returned yet, or by a reservation. Safe for concurrent use. Cost: one load where no scheduler waits, else
// a short mutex.
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
