package flow

import "github.com/cellsched/cellsched/locality/quincy"

// fan is to how many machines an arc to a rack or the cluster leads, for a task
// that needs more than a slot.
const fan = 8

// arcsOf is the planner's Arcs: the caller's, as far as they can be used.
func (s *Scheduler[J, T]) arcsOf(arcs []quincy.Arc, t T, state quincy.State, now int64) []quincy.Arc {
	tk := s.tasks[t]
	tk.correct(&state, now)
	first := len(arcs)
	if s.bare {
		arcs = append(arcs, quincy.Arc{To: quincy.Unscheduled()})
		if state.Running {
			arcs = append(arcs, quincy.Arc{To: quincy.OnMachine(state.On)})
		}
		tk.flag(!state.Running, false)
		return arcs
	}
	s.arcs = s.cfg.Arcs(s.arcs[:0], t, state, now)
	if k := s.choosing; k != nil {
		s.choose(k, s.arcs, state.Racks)
	}
	sure := tk.sure && state.Running
	may := sure // wait
	for _, a := range s.arcs {
		if a.To == quincy.Unscheduled() && !sure {
			may = true
			arcs = append(arcs, a)
		}
	}
	if !may && !state.Running {
		arcs = append(arcs, quincy.Arc{To: quincy.Unscheduled(), Cost: quincy.MaxCost})
	}
	waits := len(arcs) - first
	tk.gain = gainOf(s.arcs, state, now)
	s.wills(tk, state)
	if tk.yields && state.Running { // for whom it does so pays
		tk.flag(false, false)
		return append(arcs[:first], quincy.Arc{To: quincy.Unscheduled()}, quincy.Arc{To: quincy.OnMachine(state.On), Cost: quincy.MaxCost})
	}
	shut := !state.Running && (tk.over || tk.yields)
	for _, a := range s.arcs {
		switch {
		case shut || a.To == quincy.Unscheduled():
		case state.Running && (!tk.small || tk.exact && tk.runs()): // it is not moved
			if a.To == quincy.OnMachine(state.On) {
				arcs = append(arcs, a)
			}
		case !state.Running && (tk.exact || !tk.small):
			arcs = s.narrow(arcs, first, tk, a, state.Racks)
		case s.known(a.To, state.Racks):
			arcs = append(arcs, a)
		}
	}
	tk.flag(len(arcs)-first == waits, waits == 0)
	return arcs
}

// known reports whether there is a machine that to leads to.
func (s *Scheduler[J, T]) known(to quincy.Target, racks *quincy.Racks) bool {
	if n, ok := to.Machine(); ok {
		_, ok = racks.Of(n)
		return ok
	}
	if rack, ok := to.Rack(); ok {
		return len(racks.Nodes(rack)) > 0
	}
	return true
}

// narrow appends arcs to machines that a leads to where tk fits now: to a few,
// each time others, if a leads to many. What a rack or the cluster costs is what
// the worst machine there does, so it is enough for each of them.
func (s *Scheduler[J, T]) narrow(arcs []quincy.Arc, first int, tk *task[J, T], a quincy.Arc, racks *quincy.Racks) []quincy.Arc {
	if n, ok := a.To.Machine(); ok {
		if _, ok = racks.Of(n); ok && s.machines[n].fits(&tk.want.Need) {
			arcs = s.lead(arcs, first, s.machines[n], a)
		}
		return arcs
	}
	fit := s.fitting(&tk.want.Need)
	there := fit.all
	if rack, within := a.To.Rack(); within {
		there = fit.in(rack, racks)
	}
	left := fan
	for _, all := range there {
		for i := range all {
			m := all[(s.turn+i)%len(all)]
			if left == 0 {
				s.turn += i
				return arcs
			}
			left--
			arcs = s.lead(arcs, first, m, a)
		}
	}
	return arcs
}

// lead appends an arc to m that costs what a does, unless there is one from first
// on.
func (s *Scheduler[J, T]) lead(arcs []quincy.Arc, first int, m *machine[J, T], a quincy.Arc) []quincy.Arc {
	to := quincy.OnMachine(m.node)
	for _, b := range arcs[first:] {
		if b.To == to {
			return arcs
		}
	}
	if !m.hint && m.spare(&s.cfg.Slot) == 0 {
		m.hint = true
		s.hinted = append(s.hinted, m)
		s.touch(m)
	}
	return append(arcs, quincy.Arc{To: to, Cost: a.Cost, Rate: a.Rate})
}
