package flow

import (
	"cmp"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// trade is a task that is to stop so that limits leave room for another.
type trade[J, T comparable] struct {
	runs, waits *task[J, T]
}

// trade picks tasks that run to stop for those that wait for limits, and whose job
// is due it or whose gain is larger, as a plan would for a slot if there were none
// left. Each that stops is for one that waits, which has room then.
func (s *Scheduler[J, T]) trade(room resources.Vector) {
	first := slices.IndexFunc(s.waiting, func(tk *task[J, T]) bool { return tk.over })
	if first < 0 {
		return
	}
	running := s.stoppable(s.waiting[first])
	for _, tk := range s.waiting[first:] {
		if !tk.over {
			continue
		}
		for len(running) > 0 && running[0].job.due >= 0 && running[0].job != tk.job {
			running = running[1:] // its job would be below its low
		}
		if len(running) == 0 || !s.worth(tk, running[0]) {
			return
		}
		v := running[0]
		if !tk.want.Need.Fits(room.Add(v.want.Need)) {
			continue
		}
		s.open(tk)
		if tk.tried = true; tk.stuck {
			continue
		}
		running = running[1:]
		s.report.Limited--
		v.job.due++
		tk.job.due--
		v.yields = true
		s.ask(v)
		s.trades = append(s.trades, trade[J, T]{runs: v, waits: tk})
	}
}

// worth reports whether tk, which waits, is to run rather than v.
func (s *Scheduler[J, T]) worth(tk, v *task[J, T]) bool {
	return tk.due && tk.job != v.job || s.gains(tk) > s.gains(v)
}

// stoppable returns the tasks that run and can stop for others, those that lose
// least first; none if that is not worth it for the first that waits.
func (s *Scheduler[J, T]) stoppable(first *task[J, T]) (running []*task[J, T]) {
	for _, j := range s.jobList {
		j.due = min(j.low, j.tasks) - j.planned // below 0: so many may stop
	}
	worth := false
	for _, tk := range s.list {
		if tk.runs() && !tk.pinned {
			running = append(running, tk)
			worth = worth || s.worth(first, tk)
		}
	}
	if !worth {
		return nil
	}
	slices.SortFunc(running, func(a, b *task[J, T]) int {
		return cmp.Or(cmp.Compare(s.gains(a), s.gains(b)), cmp.Compare(b.started, a.started), cmp.Compare(a.pos, b.pos))
	})
	return running
}

// canStay reports whether v, which is to stop, can go on all the same, as nobody
// has what it would leave.
func (s *Scheduler[J, T]) canStay(v *task[J, T]) bool {
	left, promised, _ := s.promises()
	rest, ok := left.Sub(v.want.Need)
	return v.going && v.at == nil && v.job.planned < v.job.top && v.run.on.spares(&v.want.Need) && ok && promised.Fits(rest)
}

// traded ends the trades of a round. Who was to stop for a task that was not
// placed goes on, if it can.
func (s *Scheduler[J, T]) traded() {
	for _, t := range s.trades {
		v := t.runs
		v.yields = false
		switch {
		case v.runs():
			s.ask(v) // there was no plan
		case t.waits.at == nil && s.canStay(v):
			s.restore(v)
		default:
			s.report.Limited++
			v.over, v.refused = true, s.overLimit(v.want.Need, resources.Vector{})
		}
	}
	clear(s.trades)
	s.trades = s.trades[:0]
}
