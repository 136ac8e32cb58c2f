package flow

import (
	"cmp"
	"slices"

	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/resources"
)

// keeping is a machine that is kept for a task larger than a slot.
type keeping[J, T comparable] struct {
	task *task[J, T]
	on   *machine[J, T]
	// lack is the largest part of what the task needs of a kind that the machine
	// has not. It is but compared, so that rounding may choose one of two machines
	// that lack the same, and no more.
	lack  float64
	since int64 // it has not fallen
}

// impatient reports whether tk has waited beyond the patience at time since.
func (s *Scheduler[J, T]) impatient(since int64) bool { return s.now-since >= s.patience }

// reserve keeps a machine from all others for the task that waits beyond its
// patience, for longest, until it has the room. Then it is promised to it: a plan
// might give it to smaller ones again, for less.
func (s *Scheduler[J, T]) reserve() {
	tk := s.longest()
	if tk == nil && s.kept.on == nil {
		return
	}
	before, after := s.kept, keeping[J, T]{task: tk, since: s.now}
	switch {
	case tk != before.task:
		s.vain = s.vain[:0]
	case before.on != nil && s.impatient(before.since):
		s.vain = append(s.vain, before.on)
	}
	if tk != nil {
		s.choosing = &after
		s.ask(tk)
		if after.on == nil && len(s.vain) > 0 {
			s.vain = s.vain[:0]
			s.ask(tk)
		}
		s.choosing = nil
	}
	if tk == before.task && before.on == after.on && after.lack >= before.lack {
		after.since = before.since
	}
	s.unkeep()
	s.kept = after
	if m := after.on; m != nil {
		m.kept = true
		s.touch(m)
		if after.lack == 0 {
			s.give(m, tk)
		}
	}
}

// unkeep keeps no machine any more.
func (s *Scheduler[J, T]) unkeep() {
	if m := s.kept.on; m != nil {
		m.kept = false
		s.touch(m)
	}
	s.kept = keeping[J, T]{}
}

// longest returns the task that has waited for longest, beyond the patience, of
// those that wait for a machine where they fit.
func (s *Scheduler[J, T]) longest() (first *task[J, T]) {
	for _, tk := range s.fitters {
		if tk.small || tk.over || tk.run != nil || tk.job.planned >= tk.job.top || !s.impatient(tk.since) {
			continue
		}
		if first == nil || cmp.Or(cmp.Compare(tk.since, first.since), cmp.Compare(tk.pos, first.pos)) < 0 {
			first = tk
		}
	}
	return first
}

// choose finds the machine to keep for the task of k, which has these arcs: of
// those that have what it needs when they are empty, and where it costs less than to
// wait, the one that is kept for it; else that which lacks least of it now, and then the
// one that is kept for another task, or costs least. One that was kept for a patience and has got no nearer is left out until
// all have been tried.
func (s *Scheduler[J, T]) choose(k *keeping[J, T], arcs []quincy.Arc, racks *quincy.Racks) {
	waits := int64(quincy.MaxCost)
	if i := slices.IndexFunc(arcs, func(a quincy.Arc) bool { return a.To == quincy.Unscheduled() }); i >= 0 {
		waits = arcs[i].Cost
	}
	best := int64(0)
	for _, m := range s.machines {
		if m == nil || !m.takes() || !resources.Fits(&k.task.want.Need, &m.all) || slices.Contains(s.vain, m) {
			continue
		}
		left, ok := m.left()
		cost, leads := cheapest(arcs, m, racks)
		if !ok || !leads || cost >= waits {
			continue
		}
		lack := lackOf(&k.task.want.Need, &left)
		if m.kept && s.kept.task == k.task {
			k.on, k.lack = m, lack // the older its reservation the better
			return
		}
		if k.on == nil || lack < k.lack || lack == k.lack && !k.on.kept && (m.kept || cost < best) {
			k.on, k.lack, best = m, lack, cost
		}
	}
}

// cheapest returns what the cheapest of the arcs costs that lead to m.
func cheapest[J, T comparable](arcs []quincy.Arc, m *machine[J, T], racks *quincy.Racks) (cost int64, ok bool) {
	rack, _ := racks.Of(m.node)
	for _, a := range arcs {
		if a.To == quincy.OnMachine(m.node) || a.To == quincy.InRack(rack) || a.To == quincy.Cluster() {
			if !ok || a.Cost < cost {
				cost, ok = a.Cost, true
			}
		}
	}
	return cost, ok
}

// lackOf returns the largest part of need of a kind that is not left.
func lackOf(need, left *resources.Vector) (part float64) {
	for k, q := range need {
		if q > left[k] {
			part = max(part, float64(q-left[k])/float64(q))
		}
	}
	return part
}

// give has tk wait for room on m, which is there, or leaves.
func (s *Scheduler[J, T]) give(m *machine[J, T], tk *task[J, T]) {
	left, promised, ok := s.promises()
	if room, _ := left.Sub(promised); !ok || !tk.want.Need.Fits(room) {
		return
	}
	s.unkeep()
	s.plan(tk, m)
	s.promise(m, tk)
	tk.sure, tk.started = true, s.now
	s.replan(tk)
}
