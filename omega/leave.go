package omega

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Leave ends a scheduler that has nothing left in the cell, and frees its name and
// memory. Its later calls fail with [ErrLeft], a [Scheduler.Wait] in progress included.
// Without Leave the cell keeps a scheduler for a successor, and its snapshot of
// O(machines).
//
// Leave linearizes where the name becomes free. Cost: O(schedulers), and O(machines +
// allocations) if it has ever claimed. Errors: [ErrSuperseded], [ErrLeft], [ErrBusy], and
// [ErrHolding], which names an obstacle and has changed nothing:
//
//   - an allocation of its own that it has not released, preempted and lost ones
//     included;
//   - an allocation that it has preempted and that its owner has not released;
//   - a commit of a predecessor that preempts and has not returned;
//   - a deputy.
func (s *Scheduler) Leave() error {
	if s.none() {
		return absent("scheduler")
	}
	word, free := s.occupy()
	if !free {
		return fmt.Errorf("%w: %q", ErrBusy, s.owner.name)
	}
	defer s.vacate(word)
	defer s.passLeft() // after the scheduler has left
	if s.cell.journal != nil {
		return s.cell.through(context.Background(), &Operation{kind: leaveOp, scheduler: s})
	}
	return s.leave()
}

// leave is Leave for the goroutine that has made the scheduler busy.
func (s *Scheduler) leave() error {
	c, o := s.cell, s.owner
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.superseded() {
		return s.supersededError()
	}
	// No commit of the scheduler is in progress, and none of a predecessor is granted
	// anything any more. So it gets no allocation that it does not hold now.
	if o.preempting.Load() > 0 {
		return fmt.Errorf("%w: a commit by a predecessor of %q that preempts has not returned", ErrHolding, o.name)
	}
	if err := c.holdsOf(o); err != nil {
		return err
	}
	delete(c.owners, o.name)
	c.departed.add(o.counted())
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left.Store(true)
	o.epoch.Add(1)
	for _, t := range o.all() {
		c.ledger(t.account).drop(t)
		c.numbers.take(t)
	}
	c.arrange(time.Time{})
	o.watchers.tell(c) // callers of Wait, too
	return nil
}

// holdsOf returns an [ErrHolding] that names something of an owner in the cell, or nil.
// The mutex is held.
func (c *Cell) holdsOf(o *owner) error {
	for _, other := range c.owners {
		if other.chief == o {
			return fmt.Errorf("%w: %q has a deputy, %q", ErrHolding, o.name, other.name)
		}
		for n := other.marks.Load(); n != nil; n = n.next {
			if n.By == o.name && c.holds(n.Allocation.ID) {
				return fmt.Errorf("%w: %q has preempted %v of %q", ErrHolding, o.name, n.Allocation.ID, other.name)
			}
		}
	}
	if len(o.all()) == 0 {
		return nil // it has never claimed anything
	}
	for node := range c.nodes.Load() {
		at := c.table(node)
		for n := range at.all() {
			// Live or not: a preempted or lost allocation may not be marked yet.
			var rec record
			if seq, ok := at.look(n, &rec); ok && rec.tally.owner == o {
				return fmt.Errorf("%w: %q has allocation %v", ErrHolding, o.name, allocationID(node, n, c.tag, seq&^vacant))
			}
		}
	}
	return nil
}

// drop takes a tally off an account, to which nothing is charged by it.
func (l *ledger) drop(t *tally) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// A list of its own: the old one may be being read.
	rest := slices.DeleteFunc(slices.Clone(l.all()), func(one *tally) bool { return one == t })
	l.list.Store(&rest)
}
