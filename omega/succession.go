package omega

import (
	"fmt"

	"github.com/cellsched/cellsched/internal/fault"
)

// Replace returns a successor to the scheduler of that name, for when that has
// died or hangs. The successor has the next epoch and everything that the
// scheduler held: allocations, marks, limits. Commits of the old one fail with
// [ErrSuperseded] from then on, those in progress included: once Replace has
// returned, none of them is granted anything any more, no job of its is begun or
// ended, and neither are those of its deputies. Releases that they had
// begun may still take effect, and what they have changed before may still be
// marked and accounted for. What a commit of its had asked for when its
// goroutine ended in the middle stays charged for good.
//
// Cost: one swap for each machine, by which commits in progress notice. Errors:
// [ErrUnknown].
func (c *Cell) Replace(name string) (*Scheduler, error) {
	if c.none() {
		return nil, absent("cell")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.owners[name]
	if o == nil {
		return nil, unknown("scheduler %s", fault.Quote(name))
	}
	return c.succeedTo(o), nil
}

// succeedTo is Replace with the mutex held.
func (c *Cell) succeedTo(o *owner) *Scheduler {
	o.epoch.Add(1)
	o.chief = nil
	group := c.group(o)
	// What changes a number of jobs after this has seen the new epoch.
	for _, one := range group {
		one.jobs.move(c)
	}
	// Whoever read a machine before this moves it fails to swap it; whoever
	// reads it afterwards sees the new epoch. A gang of the old epoch that is
	// in the word already is decided here.
	for node := range c.nodes.Load() {
		c.fence(node)
	}
	// The old one may have been woken and not have passed that on, or still
	// wait itself.
	c.wakeAll()
	for _, one := range group {
		one.watchers.tell(c) // a WaitMark finds that it is superseded
	}
	return c.scheduler(o)
}

// Deputy returns a scheduler of that name that works under s: whoever replaces s
// replaces it in the same step, and it is superseded then as s is. So who
// answers for a group of schedulers hands on all of them at once. What they
// hold stays theirs; the successor of s makes deputies of the same names to go
// on with it.
//
// A new name is registered, with the limits. A scheduler that has the name is
// replaced, as by [Cell.Replace], whoever it worked under; it keeps the limits
// that it has. Either happens only if s is not superseded: Deputy linearizes
// with the replacement of s, so who was replaced takes no deputy from its
// successor.
//
// Cost: that of Register or Replace; each commit of a deputy looks at one word
// more. Safe for concurrent use. Errors: [ErrSuperseded], [ErrLeft]; those of
// [Cell.Register]; [ErrName] also for the name of s, or of who s works under.
func (s *Scheduler) Deputy(name string, limits Limits) (*Scheduler, error) {
	if s.none() {
		return nil, absent("scheduler")
	}
	c := s.cell
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.superseded() {
		return nil, s.supersededError()
	}
	for above := s; above != nil; above = above.chief {
		if above.owner.name == name {
			return nil, fmt.Errorf("%w: scheduler %q can not be a deputy of its own", ErrName, name)
		}
	}
	var d *Scheduler
	if o := c.owners[name]; o != nil {
		d = c.succeedTo(o)
	} else {
		var err error
		if d, err = c.register(name, limits); err != nil {
			return nil, err
		}
	}
	d.chief, d.owner.chief = s, s.owner
	return d, nil
}

// superseded tells whether somebody has taken over, or the scheduler has left.
func (s *Scheduler) superseded() bool {
	return s.owner.epoch.Load() != s.epoch || s.chief != nil && s.chief.isOver()
}

// isOver is superseded where it need not be fast.
func (s *Scheduler) isOver() bool {
	for ; s != nil; s = s.chief {
		if s.owner.epoch.Load() != s.epoch {
			return true
		}
	}
	return false
}

func (s *Scheduler) supersededError() error {
	switch o := s.owner; {
	case o.left.Load():
		return fmt.Errorf("%w: %q", ErrLeft, o.name)
	case s.chief != nil && o.epoch.Load() == s.epoch:
		return fmt.Errorf("%w, and with it %q", s.chief.supersededError(), o.name)
	}
	return fmt.Errorf("%w: %q, epoch %d", ErrSuperseded, s.owner.name, s.epoch)
}
