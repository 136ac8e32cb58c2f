package flow

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// gain is by how much a plan costs less if a task runs: what it costs to wait,
// less what its cheapest arc costs, or that where it runs. It is of the time when
// the arcs were asked for.
type gain struct {
	cost, rate, at int64
}

// noGain is the cost in the gain of a task that has no arc but to wait.
const noGain = math.MinInt64 / 2

func (g gain) none() bool { return g.cost == noGain }

// gainOf returns the gain of a task with these arcs. That of a task which has
// none but to wait is below all others.
func gainOf(arcs []quincy.Arc, state quincy.State, now int64) gain {
	waits := quincy.Arc{Cost: quincy.MaxCost}
	best := quincy.Arc{Cost: math.MaxInt64}
	for _, a := range arcs {
		switch {
		case a.To == quincy.Unscheduled():
			waits = a
		case state.Running && a.To != quincy.OnMachine(state.On):
		case a.Cost < best.Cost:
			best = a
		}
	}
	if best.Cost == math.MaxInt64 {
		return gain{cost: noGain, at: now}
	}
	return gain{cost: waits.Cost - best.Cost, rate: int64(waits.Rate) - int64(best.Rate), at: now}
}

// gains returns the gain of tk now.
func (s *Scheduler[J, T]) gains(tk *task[J, T]) int64 {
	return tk.gain.cost + tk.gain.rate*(s.now-tk.gain.at)
}

// ahead orders tasks by who is to have what limits leave: whose job is due it,
// whose gain is the largest, who waits for longest.
func (s *Scheduler[J, T]) ahead(a, b *task[J, T]) int {
	if a.due != b.due {
		if a.due {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(s.gains(b), s.gains(a)), cmp.Compare(a.since, b.since), cmp.Compare(a.pos, b.pos))
}

// rank sorts tasks that wait by who comes first. Jobs are due none that need more
// than limits could ever leave.
func (s *Scheduler[J, T]) rank(waiting []*task[J, T], most resources.Vector) {
	for _, tk := range waiting {
		tk.due = false
	}
	slices.SortFunc(waiting, s.ahead)
	for _, j := range s.jobList {
		j.due = min(j.low, j.tasks) - j.planned
	}
	due := false
	for _, tk := range waiting {
		if tk.job.due > 0 && !tk.tried && tk.want.Need.Fits(most) {
			tk.due, due = true, true
			tk.job.due--
		}
	}
	if due {
		slices.SortFunc(waiting, s.ahead)
	}
}

// allowed returns what limits leave now, and no more than they did when the round
// began: what has been released since counts as leaving until its end is told, and
// would count twice.
func (s *Scheduler[J, T]) allowed() (left resources.Vector, ok bool) {
	left, ok = s.cfg.Scheduler.Left()
	return left.Min(s.left), ok
}

// promises returns what limits leave once all that leaves has gone, and how much
// of that is promised. It is false if they leave nothing at all now.
func (s *Scheduler[J, T]) promises() (left, promised resources.Vector, ok bool) {
	left, ok = s.allowed()
	for _, m := range s.machines {
		if m != nil {
			left = left.Add(m.leaving)
		}
	}
	for _, m := range s.awaiting {
		for _, tk := range m.promised {
			promised = promised.Add(tk.want.Need)
		}
	}
	return left, promised, ok
}

// admit leaves arcs to machines to as many of the tasks that wait as limits leave
// room for. Those whom the last plan could place and has not keep theirs, and take
// no room from others meanwhile.
func (s *Scheduler[J, T]) admit() {
	most, ok := s.allowed()
	if ok && !s.short && most == endless() {
		return
	}
	left, promised, ok := s.promises()
	room, _ := left.Sub(promised)
	var needs resources.Vector
	s.waiting = s.waiting[:0]
	for _, tk := range s.list {
		if tk.at == nil {
			s.waiting = append(s.waiting, tk)
			needs = needs.Add(tk.want.Need)
		}
	}
	s.short = !ok || !needs.Fits(room)
	if !s.short {
		for _, tk := range s.waiting {
			s.open(tk)
		}
		return
	}
	most = most.Add(s.cfg.Scheduler.Usage())
	s.rank(s.waiting, most)
	all, saved := room, false
	for _, tk := range s.waiting {
		mine := room
		if tk.tried || tk.stuck { // it takes none from others: they might take turns for good
			mine = all
		}
		rest, fits := mine.Sub(tk.want.Need)
		if !fits || !ok || saved {
			s.shut(tk, room)
			if tk.want.Need.Fits(most) && tk.job.planned < tk.job.top && s.could(&tk.want.Need) && s.impatient(max(tk.since, tk.opened)) {
				saved = true // what there is left is to become enough for it
			}
			continue
		}
		tried := tk.tried
		s.open(tk)
		tk.tried = true
		if !tried && !tk.stuck {
			room = rest
		}
	}
	if saved {
		room = resources.Vector{}
	}
	if ok {
		s.trade(room)
	}
}

// endless is what is left where there is no limit.
func endless() (v resources.Vector) {
	for k := range v {
		v[k] = resources.MaxQuantity
	}
	return v
}

// open lets tk go to machines.
func (s *Scheduler[J, T]) open(tk *task[J, T]) {
	if tk.over {
		tk.over, tk.tried, tk.refused, tk.opened = false, false, nil, s.now
		s.ask(tk)
	}
}

// shut has tk wait for what limits leave.
func (s *Scheduler[J, T]) shut(tk *task[J, T], room resources.Vector) {
	s.report.Limited++
	tk.tried, tk.refused = false, s.overLimit(tk.want.Need, room)
	if !tk.over {
		tk.over = true
		s.ask(tk)
	}
}

// within takes back what a plan has placed beyond what limits leave, and lets go
// on running who was to stop for a task that was not placed.
func (s *Scheduler[J, T]) within(changes []quincy.Change[T]) {
	if !s.short {
		return
	}
	left, promised, _ := s.promises()
	if !promised.Fits(left) {
		s.waiting = s.waiting[:0]
		for _, c := range changes {
			if tk := s.tasks[c.Task]; c.Action == quincy.Place && tk.at != nil && tk.run == nil {
				s.waiting = append(s.waiting, tk)
				promised, _ = promised.Sub(tk.want.Need)
			}
		}
		slices.SortFunc(s.waiting, s.ahead)
		room, _ := left.Sub(promised)
		for _, tk := range s.waiting {
			rest, ok := room.Sub(tk.want.Need)
			if !ok {
				s.report.Limited++
				tk.over = true
				s.refuse(tk, s.overLimit(tk.want.Need, room))
				continue
			}
			room = rest
		}
		s.recheck(false)
	}
	s.traded()
	clear(s.waiting)
}

// overLimit says what limits do not leave of a need.
func (s *Scheduler[J, T]) overLimit(need, left resources.Vector) error {
	what := fmt.Sprintf("need %s, %s of what scheduler %q may hold", s.cfg.Cell.Space().Format(need), s.missing(need, left), s.cfg.Scheduler.Name())
	return fault.New("flow", what, omega.ErrLimit)
}

// missing names what of need is not left.
func (s *Scheduler[J, T]) missing(need, left resources.Vector) string {
	return missing(need, left, s.cfg.Cell.Space())
}
