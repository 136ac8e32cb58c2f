package flow

import (
	"fmt"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

// Config is the configuration of a [Scheduler]. Cell, Scheduler, Arcs and Slot are
// required.
type Config[T comparable] struct {
	// Cell has, with the racks that [Config.Rack] names and the jobs, as many
	// machines as a [quincy.Planner] holds. Rounds leave out further machines, until
	// others or jobs have gone: [Report.Beyond] counts them in each, and the error of
	// the first round without it names each.
	Cell *omega.Cell
	// Scheduler commits the rounds. It is one of Cell, and serves this one alone.
	Scheduler *omega.Scheduler
	// Store refreshes the snapshot of Scheduler and commits for the rounds: nil for
	// [omega.Local], which never waits.
	Store omega.Store
	// Arcs appends the arcs of a task as for [quincy.Config], with these
	// differences. Arcs to machines that the cell does not have are left out. A
	// task that waits may always go on waiting, for [quincy.MaxCost] where it has
	// no arc for it. It must not call the scheduler. It is called whenever the task's place changes, and each
	// round for tasks that wait for a machine where they fit.
	Arcs func(arcs []quincy.Arc, task T, s quincy.State, now int64) []quincy.Arc
	// Slot is the amount of each kind in a slot. Choose the need of most tasks. A machine
	// has as many slots as tasks of that need fit in it; kinds that are 0 in Slot do not
	// count. A machine may come later that holds a slot, so one that exceeds all machines
	// is no error of New: [Report.Unslotted].
	Slot resources.Vector
	// Rack returns the rack of a machine. It is called once, when the machine comes; nil
	// for all in one. [RacksOf] takes racks from a topology.
	Rack func(omega.MachineState) quincy.Rack
	// Unit is the unit of the planner's times, in which rates of costs are; 0 is
	// a second. Times are at most 2^28 units after the first time that is passed to
	// the scheduler.
	Unit time.Duration
	// Patience is how long a task that needs more than a slot waits before a machine is
	// kept for it. Otherwise smaller tasks could take each hole. The machine is kept from
	// all other tasks of the scheduler until the task has the room. One machine is kept
	// at a time, for the task that has waited for longest. Its need is reserved there in
	// the cell: see [omega.Reservation]. A machine that gets no nearer to the need is given
	// up after a patience, and later ones after some times that, until one is kept for long
	// enough. Once the task has started, costs decide as for any other.
	//
	// It is also how long such a task waits for room within the scheduler's limits before
	// others have to leave that room to it. The same goes for any task that the limits
	// have no room for. It counts in whole units, at least one; 0 is ten minutes.
	Patience time.Duration
	// Events, if not nil, is told of tasks that are to start or to stop for others, and of
	// each round.
	Events *observe.Stream
	// Verify has every plan proved optimal: see [quincy.Config].
	Verify bool
}

func (c *Config[T]) complete() error {
	switch {
	case c.Cell == nil:
		return fmt.Errorf("%w: Cell is nil", ErrConfig)
	case c.Scheduler == nil:
		return fmt.Errorf("%w: Scheduler is nil", ErrConfig)
	case c.Scheduler.Cell() != c.Cell:
		return fmt.Errorf("%w: Scheduler %q is of another cell, want one of Cell", ErrConfig, c.Scheduler.Name())
	case c.Arcs == nil:
		return fmt.Errorf("%w: Arcs is nil", ErrConfig)
	case c.Unit < 0:
		return fmt.Errorf("%w: Unit %v: want 0 or more", ErrConfig, c.Unit)
	case c.Patience < 0:
		return fmt.Errorf("%w: Patience %v: want 0 or more", ErrConfig, c.Patience)
	case c.Slot == resources.Vector{}:
		return fmt.Errorf("%w: Slot is empty", ErrConfig)
	}
	if err := c.Slot.Check(); err != nil {
		return fault.New("flow", fault.Bare(ErrConfig)+": Slot", err, ErrConfig)
	}
	if c.Store == nil {
		c.Store = omega.Local{Scheduler: c.Scheduler}
	}
	if c.Unit == 0 {
		c.Unit = time.Second
	}
	if c.Patience == 0 {
		c.Patience = 10 * time.Minute
	}
	if c.Rack == nil {
		c.Rack = func(omega.MachineState) quincy.Rack { return 0 }
	}
	return nil
}

// Task is a task to add: its job, its need, its account and its precedence.
type Task[J comparable] struct {
	Job        J
	Need       resources.Vector
	Account    omega.Account
	Precedence omega.Precedence
}
