package omega

import "github.com/cellsched/cellsched/resources"

// absent returns an error that wraps [resources.ErrNil] and names the argument.
func absent(argument string) error { return refuse(resources.ErrNil, "%s", argument) }

// none reports whether c is nil, or not made by [NewCell] or [Restore].
func (c *Cell) none() bool { return c == nil || c.machines == nil }

// none reports whether s is nil, or not made by a cell.
func (s *Scheduler) none() bool { return s == nil || s.cell == nil }

// none reports whether s is nil, or not made by a scheduler.
func (s *Snapshot) none() bool { return s == nil || s.cell == nil }
