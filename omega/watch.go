package omega

import (
	"context"
	"slices"

	"github.com/cellsched/cellsched/omega/internal/atomics"
)

// watchers are the goroutines that wait for marks of one owner: those in
// WaitMark, and in Wait.
//
// Invariant: no wake-up is lost. A goroutine is counted before it looks at the
// marks for the last time, and the count is read after a mark was pushed. Both
// are sequentially consistent, so one of the two sees the other. The same holds
// for the owner's epoch.
type watchers struct {
	count atomics.Int32

	mu   atomics.Mutex
	list []*waiter
}

// add puts w in the list.
func (ws *watchers) add(w *waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.list = append(ws.list, w)
	ws.count.Store(int32(len(ws.list)))
}

// remove takes w out of the list, if it is there.
func (ws *watchers) remove(w *waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if i := slices.Index(ws.list, w); i >= 0 {
		ws.list = slices.Delete(ws.list, i, i+1)
		ws.count.Store(int32(len(ws.list)))
	}
}

// tell wakes all that are in the list, to look at the marks and at the epoch. It
// costs one load where the list is empty.
func (ws *watchers) tell(c *Cell) {
	if ws.count.Load() == 0 {
		return
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.list = slices.DeleteFunc(ws.list, func(w *waiter) bool {
		if len(w.demands) > 0 {
			// It waits for room, too: whichever takes it out of the line wakes it.
			if c.leave(w) {
				w.woken.Fire(wakeToken{})
			}
			return false
		}
		w.woken.Fire(wakeToken{})
		return true
	})
	ws.count.Store(int32(len(ws.list)))
}

// WaitMark blocks until there is a mark that no earlier call has returned for, and
// returns nil; the first call counts all marks that stand. Then walk [Scheduler.Marked].
// Each mark ends one call at least, and may end a second one.
//
// Any goroutine may call it at any time, beside the one that places. It linearizes where
// it finds a new mark. A preemptor pays one load, and a short mutex while a call blocks.
// Errors: the context's cause; [ErrSuperseded]; [ErrLeft].
func (s *Scheduler) WaitMark(ctx context.Context) error {
	switch {
	case s.none():
		return absent("scheduler")
	case ctx == nil:
		return absent("context")
	}
	return s.watch(ctx, s.marked)
}

// watch blocks until there is something to tell of: found reports that, and takes it as told.
func (s *Scheduler) watch(ctx context.Context, found func() bool) error {
	ws := &s.owner.watchers
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		w := &waiter{woken: atomics.NewEvent[wakeToken]()}
		ws.add(w)
		over := s.superseded()
		there := !over && found()
		if !over && !there {
			if _, woken := w.woken.Wait(ctx); woken {
				continue
			}
		}
		ws.remove(w)
		switch {
		case over:
			return s.supersededError()
		case there:
			return nil
		}
	}
}

// marked reports whether a mark stands that no WaitMark has told of, and takes
// that as told.
func (s *Scheduler) marked() bool {
	for {
		seen := s.told.Load()
		last, stands := s.owner.newer(s.cell, seen)
		if !stands {
			return false
		}
		// Another call may have told of these, but then of no fewer: look again.
		if last > seen && s.told.CompareAndSwap(seen, last) {
			return true
		}
	}
}
