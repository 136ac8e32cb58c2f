package quincy

import (
	"fmt"
	"slices"
	"strings"

	net "github.com/cellsched/cellsched/internal/slots"

	"github.com/cellsched/cellsched/internal/fault"
)

// infeasible returns the reason why there is no plan, with a remedy. The solver has
// given up, and left the tasks without a place.
func (p *Planner[J, T]) infeasible() error {
	slots, _ := p.net.Room(p.cluster)
	due := 0
	for _, j := range p.jobs {
		due += min(j.low, j.tasks)
	}
	if due > slots {
		return refuse(ErrInfeasible, "plan: jobs are to run %d tasks at least, the sum of their E, and there are %d slots: lower E or add machines", due, slots)
	}
	tasks, locs := p.net.Unplaceable()
	switch left := p.net.Unplaced(); {
	case slices.Contains(locs, net.Sink):
		return p.tooFewWait(locs)
	case len(tasks) > 0:
		return p.noRoom(tasks, locs)
	case len(left) > 0: // the solver gave up before it knew more
		return refuse(ErrInfeasible, "plan: %d tasks, task %s among them, have no place beside the others: add slots or arcs, or lower E", len(left), fault.Key(p.tasks[slices.Min(left)].key))
	}
	return refuse(ErrInfeasible, "plan")
}

// noRoom reports tasks that have arcs only to locs, which do not hold them.
func (p *Planner[J, T]) noRoom(tasks []int32, locs []net.Loc) error {
	room := 0
	var names []string
	for _, at := range locs {
		t := p.targetOf(at)
		most, _ := p.net.Room(at)
		switch t.kind {
		case toMachine:
			names = append(names, fmt.Sprintf("%v (%d slots)", t, most))
		case toUnscheduled:
			j := p.jobAt(at)
			names = append(names, fmt.Sprintf("wait in job %s (of %d tasks it is to run %d)", fault.Key(j.key), j.tasks, min(j.low, j.tasks)))
		default:
			continue // those below are there too
		}
		room += most
	}
	const show = 4
	if more := len(names) - show; more > 1 {
		names = append(names[:show], fmt.Sprintf("%d more", more))
	}
	where := "nowhere"
	if len(names) > 0 {
		where = strings.Join(names, ", ")
	}
	return refuse(ErrInfeasible, "plan: %d tasks, task %s among them, can go to %s: that is room for %d; add slots or arcs, or lower E", len(tasks), fault.Key(p.tasks[tasks[0]].key), where, room)
}

// tooFewWait reports a job with too few tasks that can wait. Locs are the places
// where tasks could run, and the jobs of which enough tasks can wait.
func (p *Planner[J, T]) tooFewWait(locs []net.Loc) error {
	for at, t := range p.targets {
		if t.kind != toUnscheduled {
			continue
		}
		if _, runs := slices.BinarySearch(locs, net.Loc(at)); runs {
			continue
		}
		if j := p.jobAt(net.Loc(at)); j != nil && p.net.Here(j.at) < j.tasks-j.top {
			return refuse(ErrInfeasible, "plan: job %s: at most %d of %d tasks are to run, and only %d can wait: add arcs to wait, or raise F", fault.Key(j.key), j.top, j.tasks, p.net.Here(j.at))
		}
	}
	return refuse(ErrInfeasible, "plan")
}

// jobAt returns the job with tasks that wait at a location, nil if there is none.
func (p *Planner[J, T]) jobAt(at net.Loc) *job[J] { return p.owners[at] }
