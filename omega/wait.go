package omega

import (
	"context"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/internal/atomics"
	"github.com/cellsched/cellsched/resources"
)

// Wait blocks until a change of the cell, since the snapshot last saw it, could let the
// needs fit at once, and returns nil with a fresh snapshot when
//
//   - a machine that has changed, or may be claimed only now, has room for one of the
//     needs, or for all if the needs are alike;
//   - a reservation of the scheduler is ready: see [Txn.Reserve];
//   - an allocation was preempted or lost ([Scheduler.Marked]); each mark ends one
//     Wait, as with [Scheduler.WaitMark].
//
// Room that is freed wakes one scheduler for which it is enough, the one that has waited
// longest. A woken scheduler must commit, Wait again or [Scheduler.Pass]; otherwise the
// remaining waiters are not woken. Wait reserves nothing: smaller needs can keep a gang
// waiting for as long as they come.
//
// Cost: that of a refresh, and O(machines) for a gang whenever a release makes room for
// one of its needs. Freeing room costs one load, and a short mutex where a scheduler
// waits. Errors:
//
//   - the context's cause;
//   - [ErrNeverFits], as a [RefusalError], as soon as the machines that the scheduler
//     may claim could not hold the needs when empty; a machine that is added later may
//     have room;
//   - [ErrLimit] if the [Limits] do not allow the needs at once;
//   - [resources.ErrQuantity] for no need, and one that is zero or invalid;
//   - [ErrBusy]; [ErrSuperseded]; [ErrLeft].
func (s *Scheduler) Wait(ctx context.Context, needs ...resources.Vector) error {
	switch {
	case s.none():
		return absent("scheduler")
	case ctx == nil:
		return absent("context")
	}
	return s.WaitAny(ctx, needs)
}

// WaitAny is [Scheduler.Wait] for several gangs of which any will do. It fails with
// [ErrNeverFits] only if none of them could ever fit, with an error for each joined.
func (s *Scheduler) WaitAny(ctx context.Context, gangs ...[]resources.Vector) error {
	switch {
	case s.none():
		return absent("scheduler")
	case ctx == nil:
		return absent("context")
	}
	if !s.waits.CompareAndSwap(false, true) {
		if s.superseded() {
			return s.supersededError()
		}
		return refuse(ErrBusy, "scheduler %q waits", s.owner.name)
	}
	defer s.endWait()
	began := time.Now()
	err := s.await(ctx, gangs)
	if err == nil {
		s.counts.noteWait(time.Since(began))
	}
	return err
}

// await is WaitAny for the one goroutine that waits.
func (s *Scheduler) await(ctx context.Context, gangs [][]resources.Vector) error {
	// The scheduler had no use for the room that it was woken for. That goes to the next
	// waiter, or the others would sleep on beside free room.
	s.Pass()
	w := &waiter{owner: s.owner, woken: atomics.NewEvent[wakeToken]()}
	if err := s.demand(w, gangs); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c := s.cell
	snap := s.snapshot() // not filled if it is new: all that there is has changed then
	s.owner.watchers.add(w)
	defer s.owner.watchers.remove(w)
	c.enter(w)
	for {
		if over, err := s.look(snap, w); over {
			c.quit(s, w)
			if err != nil {
				s.Pass()
			}
			return err
		}
		s.decline(w)
		b, woken := w.woken.Wait(ctx)
		if !woken {
			c.quit(s, w)
			s.Pass()
			return context.Cause(ctx)
		}
		s.hold(b)
		if b.valid && w.plain() && !s.superseded() {
			snap.update(nil)
			return nil
		}
		// It looks only once it is in the line again: each later change wakes it.
		w.woken = atomics.NewEvent[wakeToken]()
		c.enter(w)
	}
}

// endWait ends a Wait. If another goroutine calls Leave meanwhile, a scheduler that
// returns with the token may not be used any more. Either Leave finds that the Wait is
// over, and passes the token on, or it is seen here that the scheduler has left.
func (s *Scheduler) endWait() {
	s.waits.Store(false)
	if s.superseded() {
		s.passLeft()
	}
}

// passLeft passes on the token of a scheduler that no Wait is using.
func (s *Scheduler) passLeft() {
	if s.waits.CompareAndSwap(false, true) {
		s.Pass()
		s.waits.Store(false)
	}
}

// demand gives w its demands, or says why it cannot wait for them.
func (s *Scheduler) demand(w *waiter, gangs [][]resources.Vector) error {
	if len(gangs) == 0 {
		return s.waitable(nil)
	}
	for _, needs := range gangs {
		if err := s.waitable(needs); err != nil {
			return err
		}
		w.demands = append(w.demands, newDemand(needs))
	}
	return nil
}

// waitable says why needs cannot be waited for, whatever the machines are.
func (s *Scheduler) waitable(needs []resources.Vector) error {
	if len(needs) == 0 {
		return refuse(resources.ErrQuantity, "scheduler %q waits for no need, want 1 or more", s.owner.name)
	}
	var sum resources.Vector
	for i, need := range needs {
		if err := need.CheckNeed(); err != nil {
			return refuse(s.cell.inUnits(err, &needs[i]), "scheduler %q waits for need %d", s.owner.name, i)
		}
		sum = sum.Add(need)
	}
	return s.owner.limits.allow(s.owner.name, len(needs), &sum, s.cell.space)
}

// look refreshes the snapshot. It reports whether a Wait is over, and with which result.
func (s *Scheduler) look(snap *Snapshot, w *waiter) (over bool, err error) {
	last, marked := s.owner.newer(s.cell, s.shown)
	fits := snap.news(w.demands)
	switch {
	case s.superseded():
		return true, s.supersededError()
	case marked:
		s.shown = last
		return true, nil
	case fits:
		return true, nil
	}
	err = snap.never(w.demands)
	return err != nil, err
}

// news refreshes the snapshot and tells whether something that it had not seen
// before may let one of some demands be met: a machine that has changed, or another
// mask.
func (s *Snapshot) news(ds demands) bool {
	was, changed, filled := s.mask, false, false
	s.update(func(node int) {
		if s.mask == nil || s.mask.Has(locality.Node(node)) {
			room := s.room(node)
			changed = changed || ds.usable(&room)
			filled = filled || s.known(node).fillsOne(s.owner)
		}
	})
	if filled && s.ready() {
		return true
	}
	// It is asked of the mask that the update has read: another one might be newer,
	// and not seem changed the next time.
	return (changed || s.mask != was) && ds.met(s.rooms(s.mask))
}

// room returns the free room on a machine that an update visits. One that is behind there has
// no reserved room.
func (s *Snapshot) room(node int) (free resources.Vector) {
	if s.behind[node/64]>>(node%64)&1 == 0 {
		return s.free[node]
	}
	v := &s.seen[node].V
	if v.cond != Ready {
		return closed
	}
	v.unpack(&free)
	return free
}

// hold has the scheduler take a token that it was given, which may be none. It
// passes on the one that it has.
func (s *Scheduler) hold(b wakeToken) {
	s.Pass()
	s.token = b
}

// quit takes w out of the line. Where it was just woken the scheduler has the token
// then.
func (c *Cell) quit(s *Scheduler, w *waiter) {
	if !c.leave(w) {
		b, _ := w.woken.Wait(context.Background())
		s.hold(b)
	}
}

// decline hands on the token beyond w, which stays in the line.
func (s *Scheduler) decline(w *waiter) {
	s.token.after = max(s.token.after, w.tick)
	s.Pass()
}

// Pass passes the room on that the scheduler was woken for, if it still may: see
// [Scheduler.Wait].
func (s *Scheduler) Pass() {
	if s.none() {
		return
	}
	if b := s.token; b.valid {
		s.token = wakeToken{}
		s.cell.offer(b)
	}
}
