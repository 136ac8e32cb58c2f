package flow

import (
	"fmt"
	"slices"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
)

// Running is a task that runs already: the machine and the allocation of its [Start], and
// the times of its run and its wait.
type Running[J comparable] struct {
	Job        J
	Machine    omega.MachineID
	Allocation omega.AllocationID
	Since      time.Time
	Waited     time.Duration // in total before that; less than it was, and it is preempted sooner
}

// AddRunning adds a task that runs in an allocation of [Config.Scheduler]. The cell knows
// its need, its account and its precedence. The next round leaves it there, moves it or
// preempts it.
//
// It is for a scheduler that goes on with the tasks of another: after a restart of the
// process, or a takeover. [omega.Cell.Replace] gives it the allocations of its
// predecessor, and [omega.Scheduler.Allocations] walks them. An allocation that is not
// added counts as another's room for as long as it is held. So release allocations
// without a task. Add tasks that were told to stop when they have, by [Scheduler.Add].
// Preempted and lost allocations, which [omega.Scheduler.Marked] walks, cannot be added:
// see that their tasks have stopped, and release them.
//
// Cost: O(allocations on the machine). Errors:
//
//   - [ErrBusy] while a round is in progress or its outcome in doubt;
//   - [omega.ErrReleased], [omega.ErrNotOwner];
//   - [quincy.ErrDuplicate], also where another task has the allocation;
//   - those of [quincy.Planner.AddRunning].
func (s *Scheduler[J, T]) AddRunning(t T, runs Running[J], now time.Time) error {
	if s.none() {
		return absent("scheduler")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rounding || s.exchange.phase != planning {
		return about(t, ErrBusy) // the cell may have granted claims that the round has not read yet
	}
	at, err := s.clock.units(now)
	if err != nil {
		return err
	}
	j, err := s.book.vacant(t, runs.Job)
	if err != nil {
		return err
	}
	a, err := s.allocation(runs)
	if err != nil {
		return about(t, err)
	}
	m, err := s.machineOf(a)
	if err != nil {
		return about(t, err)
	}
	since := at - int64(now.Sub(runs.Since)/s.cfg.Unit)
	if runs.Since.After(now) {
		since = at + 1 // which is refused
	}
	tk := &task[J, T]{
		key: t, want: Task[J]{Job: runs.Job, Need: a.Need, Account: a.Account, Precedence: a.Precedence},
		job: j, small: a.Need.Fits(s.cfg.Slot), exactPos: -1,
		started: since, since: at, waited: int64(runs.Waited / s.cfg.Unit),
	}
	h := &hold[J, T]{id: a.ID, task: tk, on: m, need: a.Need, booked: true, pos: len(m.holds)}
	tk.run = h
	s.book.tasks[t] = tk
	if err := s.book.planner.AddRunning(t, runs.Job, m.node, tk.started, tk.waited, at); err != nil {
		s.book.unflag(tk)
		delete(s.book.tasks, t)
		return err
	}
	m.holds = append(m.holds, h)
	s.book.held[a.ID] = h
	s.book.enlist(tk, now, at)
	s.book.plan(tk, m)
	return nil
}

// allocation returns the cell's record of a task's allocation.
func (s *Scheduler[J, T]) allocation(runs Running[J]) (omega.Allocation, error) {
	if h := s.book.held[runs.Allocation]; h != nil {
		if h.task == nil {
			return omega.Allocation{}, fault.Newf("flow", omega.ErrReleased, "allocation %v", runs.Allocation)
		}
		return omega.Allocation{}, fault.Newf("flow", quincy.ErrDuplicate, "allocation %v is that of task %s", runs.Allocation, fault.Key(h.task.key))
	}
	on := s.cfg.Cell.AllocationsOn(runs.Machine)
	i := slices.IndexFunc(on, func(a omega.Allocation) bool { return a.ID == runs.Allocation })
	switch {
	case i < 0:
		return omega.Allocation{}, fault.Newf("flow", omega.ErrReleased, "allocation %v on %s", runs.Allocation, s.called(runs.Machine))
	case on[i].Scheduler != s.cfg.Scheduler.Name():
		return omega.Allocation{}, fault.Newf("flow", omega.ErrNotOwner, "allocation %v of %q", runs.Allocation, on[i].Scheduler)
	}
	return on[i], nil
}

// called returns the name of a machine in errors, or its ID if the cell does not have it.
func (s *Scheduler[J, T]) called(m omega.MachineID) string {
	if st, ok := s.cfg.Cell.State(m); ok {
		return fmt.Sprintf("machine %q", st.Name)
	}
	return fmt.Sprintf("machine %v", m)
}

// machineOf returns the machine of an allocation. It may be new to the scheduler.
func (s *Scheduler[J, T]) machineOf(a omega.Allocation) (*machine[J, T], error) {
	n := a.Machine.Node()
	if int(n) < len(s.fleet.machines) && s.fleet.machines[n] != nil {
		if m := s.fleet.machines[n]; m.id == a.Machine {
			return m, nil
		}
		return nil, fault.Newf("flow", omega.ErrUnknown, "%s: the one before it is in use until the next round", s.called(a.Machine))
	}
	st, ok := s.cfg.Cell.State(a.Machine)
	if !ok || st.Condition == omega.Removed {
		return nil, fault.Newf("flow", omega.ErrRemoved, "machine %v", a.Machine)
	}
	return s.watch.join(st)
}
