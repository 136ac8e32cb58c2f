package flow

import (
	"slices"

	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// task is a task: where the plan has it, and where it is.
//
//	waits      at nil
//	promised   at set, next nil, and not running there: in at.promised
//	reserved   at set, next its allocation there
//	runs       at set, run its allocation there
//
// In the first three, run may be an allocation that the task was told to leave and
// has not left yet.
type task[J, T comparable] struct {
	key        T
	want       Task[J]
	job        *job[J]
	small      bool // needs no more than a slot
	exact      bool // it was sent where it had no room: see retarget
	retargeted bool // a round has looked where it fits since
	sentEpoch  int  // fleet.epoch when it was sent

	at        *machine[J, T]
	run, next *hold[J, T]
	planned   int64 // when at was set
	started   int64 // when run started
	since     int64 // it has not run
	waited    int64 // in total before that

	stuck, pinned bool
	unwilling     bool  // waiting costs it no more than each arc, now and later
	refused       error // reason of the last refused claim
	limited       bool  // it waits for the limits: its only arcs are to wait
	tried         bool  // a plan could have placed it since it waits, and has not
	opened        int64 // when it was last not limited any more
	assured       bool  // its room was reserved, and it is not preempted before it has started
	swappedOut    bool  // it is to stop for a limited task, if that is placed
	belowMin      bool  // without it, its job is below its minimum, by the last look
	gain          gain
	stopping      bool           // it is to be told to stop, at the end of the round
	reserved      bool           // it is in exchange.reserved
	item          int            // of the transaction, its claim
	asked         *machine[J, T] // where that is, while it is on the way: see phase

	pos, here, exactPos int // places in book.list, machine.here, book.exactTasks
}

// runs reports whether it runs and was not told to stop.
func (tk *task[J, T]) runs() bool { return tk.run != nil && !tk.run.ending }

// hold is an allocation.
type hold[J, T comparable] struct {
	id     omega.AllocationID
	task   *task[J, T] // nil once it is to be released
	on     *machine[J, T]
	need   resources.Vector
	booked bool // the cell counts it; it was not preempted or lost
	ending bool // it is to become free
	pos    int  // place in machine.holds
}

// settle removes tk from the tasks to which room is promised.
func (m *machine[J, T]) settle(tk *task[J, T]) {
	if i := slices.Index(m.promised, tk); i >= 0 {
		m.promised = slices.Delete(m.promised, i, i+1)
	}
}

// correct puts into state the times that the planner does not know. To it a plan is done
// at once, and a task that waits anew has never waited.
func (tk *task[J, T]) correct(state *quincy.State, now int64) {
	switch {
	case state.Running && tk.runs() && tk.run.on.node == state.On:
		state.Since, state.Waited = tk.started, tk.waited
	case tk.runs(): // the plan has just moved or preempted it
		state.Waited = tk.waited
	case state.Running:
		state.Waited = tk.waited + now - tk.since
	default:
		state.Since, state.Waited = tk.since, tk.waited
	}
}

// removeAt removes element i of list, moves the last one there, and reports that to moved.
func removeAt[E any](list []E, i int, moved func(last E)) []E {
	end := len(list) - 1
	list[i] = list[end]
	moved(list[i])
	clear(list[end:])
	return list[:end]
}

// claim returns the claim of a task on a machine.
func (tk *task[J, T]) claim(m *machine[J, T]) omega.Claim {
	return omega.Claim{Machine: m.id, Account: tk.want.Account, Need: tk.want.Need, Precedence: tk.want.Precedence}
}
