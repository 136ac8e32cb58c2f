package omega

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/cellsched/cellsched/internal/fault"
)

// Replace returns the successor of a scheduler that has died or hangs, by name. The
// successor has the next epoch and all that the scheduler held: allocations, marks,
// limits.
//
// From then on commits of the old scheduler and its deputies fail with [ErrSuperseded].
// After the return none of them is granted a claim, begins a job or ends one. Releases
// that had begun may still take effect. Marks and charges of changes that began before
// Replace may appear after it. If its goroutine ended in the middle of a commit, the
// claims of that commit stay charged for good.
//
// Cost: one swap for each machine. Errors: [ErrUnknown].
func (c *Cell) Replace(name string) (*Scheduler, error) {
	if c.none() {
		return nil, absent("cell")
	}
	if c.journal != nil {
		op := &Operation{kind: replaceOp, name: name}
		err := c.through(context.Background(), op)
		return op.made, err
	}
	return c.replace(name)
}

// replace is Replace for an operation that is applied.
func (c *Cell) replace(name string) (*Scheduler, error) {
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
	// A later change of a number of jobs has seen the new epoch.
	for _, one := range group {
		one.jobs.move(c)
	}
	// A commit that read a machine before this moves it fails to swap it; a commit that
	// reads it afterwards sees the new epoch. A gang of the old epoch that is in the
	// word already is decided here.
	for node := range c.nodes.Load() {
		c.fence(node)
	}
	c.fenced.Add(1)
	// The old one may have been woken and not have passed that on, or still
	// wait itself.
	c.wakeAll()
	for _, one := range group {
		one.watchers.tell(c) // a WaitMark finds that it is superseded
	}
	return c.scheduler(o)
}

// Deputy returns a scheduler of that name that works under s: a successor of s replaces
// its deputies in the same step. So one replacement hands on a group of schedulers. The
// deputies' allocations stay, and the successor makes deputies of the same names to go
// on.
//
// A new name is registered with the limits. A scheduler that has the name is replaced,
// whatever it worked under, and keeps its limits. Deputy linearizes with the replacement
// of s: a replaced scheduler takes no deputy from its successor.
//
// Cost: that of Register or Replace; a commit of a deputy reads one word more. Safe for
// concurrent use. Errors: [ErrSuperseded], [ErrLeft], those of [Cell.Register], and
// [ErrName] for the name of s or of a scheduler above it.
func (s *Scheduler) Deputy(name string, limits Limits) (*Scheduler, error) {
	if s.none() {
		return nil, absent("scheduler")
	}
	if s.cell.journal != nil {
		op := &Operation{kind: deputyOp, scheduler: s, name: name, limits: limits}
		err := s.cell.through(context.Background(), op)
		return op.made, err
	}
	return s.deputy(name, limits)
}

// deputy is Deputy for a scheduler that a cell has made.
func (s *Scheduler) deputy(name string, limits Limits) (*Scheduler, error) {
	c := s.cell
	c.mu.Lock()
	defer c.mu.Unlock()
	// The replacement of s takes the mutex, too. So a scheduler that finds itself replaced
	// here has taken no deputy from its successor.
	if s.superseded() {
		return nil, s.supersededError()
	}
	for above := s; above != nil; above = above.chief {
		if above.owner.name == name {
			return nil, fmt.Errorf("%w: scheduler %q cannot be a deputy of its own", ErrName, name)
		}
	}
	var d *Scheduler
	if o := c.owners[name]; o != nil {
		// As a rule a deputy of the predecessor of s, whose allocations go on.
		d = c.succeedTo(o)
	} else {
		var err error
		if d, err = c.register(name, limits); err != nil {
			return nil, err
		}
	}
	d.chief, d.owner.chief, d.owner.chiefEpoch = s, s.owner, s.epoch
	return d, nil
}

// superseded reports whether the scheduler, or one that it works under, was replaced or
// has left.
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

// group returns an owner and those that work under it, in the order in which they
// registered. The cell's mutex is held.
func (c *Cell) group(o *owner) (under []*owner) {
	for _, other := range c.owners {
		for at := other; at != nil; at = at.chief {
			if at == o {
				under = append(under, other)
				break
			}
		}
	}
	slices.SortFunc(under, func(a, b *owner) int { return cmp.Compare(a.num, b.num) })
	return under
}
