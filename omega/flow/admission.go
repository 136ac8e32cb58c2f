package flow

import (
	"cmp"
	"slices"

	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// admission decides which tasks may go to machines, where the limits of the cell's
// scheduler bind.
type admission[J, T comparable] struct {
	cfg      *Config[T]
	book     *book[J, T]
	fleet    *fleet[J, T]
	promises *promises[J, T]
	round    *outcome[T]

	limited bool             // limits have left some waiting in the last round
	left    resources.Vector // room within limits when the round began
	waiting []*task[J, T]    // by rank, where limits bind
	trades  []trade[J, T]
}

// endless is the room where there is no limit.
var endless = resources.Uniform(resources.MaxQuantity)

// trade is a task that is to stop so that limits leave room for another.
type trade[J, T comparable] struct {
	runs, waits *task[J, T]
}

// gains returns the gain of tk now.
func (ad *admission[J, T]) gains(tk *task[J, T]) int64 {
	return tk.gain.cost + tk.gain.rate*(ad.book.now-tk.gain.at)
}

// ahead compares two waiting tasks for admission under the scheduler's limits: tasks of jobs
// below their minimum first, then the larger gain, then the longer wait.
func (ad *admission[J, T]) ahead(a, b *task[J, T]) int {
	if a.belowMin != b.belowMin {
		if a.belowMin {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(ad.gains(b), ad.gains(a)), cmp.Compare(a.since, b.since), cmp.Compare(a.pos, b.pos))
}

// rank sorts waiting tasks for admission, tasks of jobs below their minimum first. most
// is the largest room that limits could leave. A task that needs more does not count for
// its job.
func (ad *admission[J, T]) rank(waiting []*task[J, T], most resources.Vector) {
	for _, tk := range waiting {
		tk.belowMin = false
	}
	slices.SortFunc(waiting, ad.ahead)
	for _, j := range ad.book.jobList {
		j.deficit = min(j.minShare, j.tasks) - j.planned
	}
	owed := false
	for _, tk := range waiting {
		if tk.job.deficit > 0 && !tk.tried && tk.want.Need.Fits(most) {
			tk.belowMin, owed = true, true
			tk.job.deficit--
		}
	}
	if owed {
		slices.SortFunc(waiting, ad.ahead)
	}
}

// allowed returns the room that limits leave now, but no more than when the round began.
// Room released since counts as ending until its end is told, and would count twice.
func (ad *admission[J, T]) allowed() (left resources.Vector, ok bool) {
	left, ok = ad.cfg.Scheduler.Left()
	return left.Min(ad.left), ok
}

// room returns the room that limits leave once all ending allocations are gone, and how
// much of that is promised. It is false if limits leave nothing at all now.
func (ad *admission[J, T]) room() (left, promised resources.Vector, ok bool) {
	left, ok = ad.allowed()
	for _, m := range ad.fleet.machines {
		if m != nil {
			left = left.Add(m.ending)
		}
	}
	for _, m := range ad.promises.awaiting {
		for _, tk := range m.promised {
			promised = promised.Add(tk.want.Need)
		}
	}
	return left, promised, ok
}

// admit grants arcs to machines to as many waiting tasks as limits have room for. Left is
// the room when the round began. A task that the last plan could place and has not keeps
// its arcs, and takes no room from others meanwhile.
func (ad *admission[J, T]) admit(left resources.Vector) {
	ad.left = left
	most, ok := ad.allowed()
	if ok && !ad.limited && most == endless {
		return
	}
	all, promised, ok := ad.room()
	room, _ := all.Sub(promised)
	var needs resources.Vector
	ad.waiting = ad.waiting[:0]
	for _, tk := range ad.book.list {
		if tk.at == nil {
			ad.waiting = append(ad.waiting, tk)
			needs = needs.Add(tk.want.Need)
		}
	}
	ad.limited = !ok || !needs.Fits(room)
	if !ad.limited {
		for _, tk := range ad.waiting {
			ad.grantArcs(tk)
		}
		return
	}
	// Upper bound of the room within limits: the room left now and the scheduler's usage.
	most = most.Add(ad.cfg.Scheduler.Usage())
	ad.rank(ad.waiting, most)
	whole, reserved := room, false
	// Each waiting task in the order of admission takes its room from the rest.
	for _, tk := range ad.waiting {
		mine := room
		if tk.tried || tk.stuck { // it takes none from others: they might take turns for good
			mine = whole
		}
		rest, fits := mine.Sub(tk.want.Need)
		if !fits || !ok || reserved {
			ad.revokeArcs(tk, room)
			if tk.want.Need.Fits(most) && tk.job.planned < tk.job.maxShare && ad.fleet.couldFit(&tk.want.Need) && ad.book.impatient(max(tk.since, tk.opened)) {
				reserved = true // the rest is kept until it suffices
			}
			continue
		}
		tried := tk.tried
		ad.grantArcs(tk)
		tk.tried = true
		if !tried && !tk.stuck {
			room = rest
		}
	}
	if reserved {
		room = resources.Vector{}
	}
	if ok {
		ad.trade(room)
	}
}

// grantArcs lets the plan send tk to machines.
func (ad *admission[J, T]) grantArcs(tk *task[J, T]) {
	if tk.limited {
		tk.limited, tk.tried, tk.refused, tk.opened = false, false, nil, ad.book.now
		ad.book.ask(tk)
	}
}

// revokeArcs makes tk wait for the limits.
func (ad *admission[J, T]) revokeArcs(tk *task[J, T], room resources.Vector) {
	ad.round.report.Limited++
	tk.tried, tk.refused = false, ad.overLimit(tk.want.Need, room)
	if !tk.limited {
		tk.limited = true
		ad.book.ask(tk)
	}
}

// within takes back placements of the plan beyond the room within limits. A task that
// was to stop for a task without a place goes on running.
func (ad *admission[J, T]) within(changes []quincy.Change[T]) {
	if !ad.limited {
		return
	}
	left, promised, _ := ad.room()
	if !promised.Fits(left) {
		// The plan has slots, not amounts, so it may have placed too much. Its new
		// placements are undone, and admitted again as far as there is room.
		ad.waiting = ad.waiting[:0]
		for _, c := range changes {
			if tk := ad.book.tasks[c.Task]; c.Action == quincy.Place && tk.at != nil && tk.run == nil {
				ad.waiting = append(ad.waiting, tk)
				promised, _ = promised.Sub(tk.want.Need)
			}
		}
		slices.SortFunc(ad.waiting, ad.ahead)
		room, _ := left.Sub(promised)
		for _, tk := range ad.waiting {
			rest, ok := room.Sub(tk.want.Need)
			if !ok {
				ad.round.report.Limited++
				tk.limited = true
				ad.promises.refuse(tk, ad.overLimit(tk.want.Need, room))
				continue
			}
			room = rest
		}
		ad.promises.recheck(false)
	}
	ad.traded()
	clear(ad.waiting)
}

// overLimit returns the refusal of a need that limits do not leave room for.
func (ad *admission[J, T]) overLimit(need, left resources.Vector) error {
	e := &omega.RefusalError{Reason: omega.ErrLimit, Scheduler: ad.cfg.Scheduler.Name(), Need: need, Space: ad.cfg.Cell.Space()}
	if most := ad.cfg.Scheduler.Limits().Held; most != nil {
		e.Limit = *most
		for k, q := range most {
			e.Held[k] = max(0, q-left[k])
		}
	}
	return e
}

// trade picks running tasks to stop for tasks that wait for limits. The job of the waiting
// task is below its minimum, or the waiting task has the larger gain. A plan would choose
// so for a slot if there were none left. Each stop makes room for one waiting task.
func (ad *admission[J, T]) trade(room resources.Vector) {
	first := slices.IndexFunc(ad.waiting, func(tk *task[J, T]) bool { return tk.limited })
	if first < 0 {
		return
	}
	// Both lists are in order: as soon as the best waiting task is not worth the cheapest
	// running one, no later pair is.
	running := ad.stoppable(ad.waiting[first])
	for _, tk := range ad.waiting[first:] {
		if !tk.limited {
			continue
		}
		for len(running) > 0 && running[0].job.deficit >= 0 && running[0].job != tk.job {
			running = running[1:] // its job would be below its minimum
		}
		if len(running) == 0 || !ad.worth(tk, running[0]) {
			return
		}
		v := running[0]
		if !tk.want.Need.Fits(room.Add(v.want.Need)) {
			continue // one stop would not be enough for it
		}
		ad.grantArcs(tk)
		if tk.tried = true; tk.stuck {
			continue
		}
		running = running[1:]
		ad.round.report.Limited--
		v.job.deficit++
		tk.job.deficit--
		v.swappedOut = true
		ad.book.ask(v)
		ad.trades = append(ad.trades, trade[J, T]{runs: v, waits: tk})
	}
}

// worth reports whether tk, which waits, is to run rather than v.
func (ad *admission[J, T]) worth(tk, v *task[J, T]) bool {
	return tk.belowMin && tk.job != v.job || ad.gains(tk) > ad.gains(v)
}

// stoppable returns the running tasks that can stop for others, by the value that
// they lose, the least first. It returns none if no stop pays for the first waiting
// task.
func (ad *admission[J, T]) stoppable(first *task[J, T]) (running []*task[J, T]) {
	for _, j := range ad.book.jobList {
		j.deficit = min(j.minShare, j.tasks) - j.planned // below 0: so many may stop
	}
	worth := false
	for _, tk := range ad.book.list {
		if tk.runs() && !tk.pinned {
			running = append(running, tk)
			worth = worth || ad.worth(first, tk)
		}
	}
	if !worth {
		return nil
	}
	slices.SortFunc(running, func(a, b *task[J, T]) int {
		return cmp.Or(cmp.Compare(ad.gains(a), ad.gains(b)), cmp.Compare(b.started, a.started), cmp.Compare(a.pos, b.pos))
	})
	return running
}

// canStay reports whether v, which is to stop, can go on all the same: no other task has
// the room that it would leave.
func (ad *admission[J, T]) canStay(v *task[J, T]) bool {
	left, promised, _ := ad.room()
	rest, ok := left.Sub(v.want.Need)
	return v.stopping && v.at == nil && v.job.planned < v.job.maxShare && v.run.on.fitsBesidePromises(&v.want.Need) && ok && promised.Fits(rest)
}

// traded ends the trades of a round. A task that was to stop for one that was not placed
// goes on, if it can.
func (ad *admission[J, T]) traded() {
	for _, t := range ad.trades {
		v := t.runs
		v.swappedOut = false
		switch {
		case v.runs():
			ad.book.ask(v) // there was no plan
		case t.waits.at == nil && ad.canStay(v):
			ad.book.restore(v)
		default:
			// It stops, and waits for the limits itself from now on.
			ad.round.report.Limited++
			v.limited, v.refused = true, ad.overLimit(v.want.Need, resources.Vector{})
		}
	}
	clear(ad.trades)
	ad.trades = ad.trades[:0]
}
