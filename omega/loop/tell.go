package loop

import (
	"fmt"

	"github.com/cellsched/cellsched/internal/keys"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
)

// tell passes an event of a job on as one that all packages share.
func (l *Loop[K]) tell(e *Event[K]) {
	job := &e.Pending.job
	to := observe.Event{
		At: e.At, Source: "loop", Tenant: l.accountName(job.Account), Label: keys.Text(job.Key), Need: job.Need,
		Count: len(e.Allocations), Err: e.Err,
	}
	switch e.Kind {
	case Placed:
		to.Kind, to.Waited = observe.Granted, e.At.Sub(e.Pending.submitted)
	case Preempted:
		to.Kind, to.Need, to.Machine = observe.Preempted, e.Mark.Allocation.Need, l.machineName(e.Mark.Allocation.Machine)
	case BackedOff, Abandoned, Expired, Cancelled, Parked:
		to.Kind = observe.Refused
		if to.Err == nil {
			to.Err = fmt.Errorf("loop: job %s", e.Kind)
		}
	default:
		return
	}
	l.cfg.Events.Tell(to)
}

// cell returns the cell of a store without a network between, or nil.
func (l *Loop[K]) cell() *omega.Cell {
	if local, ok := l.cfg.Store.(interface{ Cell() *omega.Cell }); ok {
		return local.Cell()
	}
	if local, ok := l.cfg.Store.(omega.Local); ok {
		return local.Scheduler.Cell()
	}
	return nil
}

func (l *Loop[K]) accountName(a omega.Account) string {
	name, _ := l.cell().AccountName(a)
	return name
}

func (l *Loop[K]) machineName(m omega.MachineID) string {
	state, _ := l.cell().State(m)
	return state.Name
}
