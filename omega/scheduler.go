package omega

import (
	"fmt"
	"sync/atomic"
)

// Scheduler is one scheduler's access to a cell: what it commits with, and the
// owner of what it was granted.
//
// It belongs to one goroutine at a time; many goroutines are many schedulers.
// A commit that finds another in progress fails with [ErrBusy] and changes
// nothing.
type Scheduler struct {
	cell *Cell
	name string
	num  uint32 // from 1
	last uint64 // serial of its newest record; the first is 1
	busy atomic.Bool
	snap *Snapshot // made on first use; committing keeps it fresh
}

// Register adds a scheduler to the cell. Errors: [ErrName] if the name is
// empty or taken, [ErrTooMany] beyond 2^20 schedulers.
func (c *Cell) Register(name string) (*Scheduler, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if name == "" {
		return nil, fmt.Errorf("%w: scheduler name is empty", ErrName)
	}
	if c.registered[name] {
		return nil, fmt.Errorf("%w: scheduler %q is registered already", ErrName, name)
	}
	if len(c.schedulers) == maxSchedulers {
		return nil, fmt.Errorf("%w schedulers: %q is one more than %d", ErrTooMany, name, maxSchedulers)
	}
	c.registered[name] = true
	c.schedulers = append(c.schedulers, name)
	return &Scheduler{cell: c, name: name, num: uint32(len(c.schedulers))}, nil
}

// Name returns the name that the scheduler was registered with.
func (s *Scheduler) Name() string { return s.name }
