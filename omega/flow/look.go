package flow

import (
	"context"
	"iter"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// look brings what the scheduler knows of the cell up to date: machines that have
// come, changed and gone, and what others have taken from it. It reports whether the
// store has let it.
func (s *Scheduler[J, T]) look(ctx context.Context, now time.Time) bool {
	s.changed = s.changed[:0]
	var snap *omega.Snapshot
	var err error
	s.unlocked(func() {
		snap, err = s.attempt.BeginEach(ctx, now, func(st omega.MachineState) { s.changed = append(s.changed, st) })
	})
	if err != nil {
		s.errs = append(s.errs, err)
		return false
	}
	for _, st := range s.changed {
		s.see(st)
	}
	if s.resync || s.freed && len(s.beyond) > 0 {
		s.resync, s.freed = false, false
		there := make([]bool, snap.Len())
		for st := range snap.Machines() {
			there[st.ID.Node()] = true
			s.see(st)
		}
		for n := range s.beyond {
			if !there[n] {
				delete(s.beyond, n)
			}
		}
		for n, m := range s.machines {
			if m != nil && !there[n] {
				s.lose(m)
			}
		}
	}
	for mark := range s.cfg.Scheduler.Marked() {
		if h := s.held[mark.Allocation.ID]; h != nil && h.booked && mark.Fate == omega.Preempted {
			s.take(h, mark.Until)
		}
	}
	s.recount(snap)
	s.reopen(snap)
	if s.joined {
		s.joined = false
		for _, tk := range s.list {
			s.ask(tk)
		}
	}
	return true
}

// see takes in what a machine is now.
func (s *Scheduler[J, T]) see(st omega.MachineState) {
	n := st.ID.Node()
	var m *machine[J, T]
	if int(n) < len(s.machines) {
		m = s.machines[n]
	}
	if m != nil && (m.id != st.ID || st.Condition == omega.Removed) {
		s.lose(m)
		m = nil
	}
	if st.Condition == omega.Removed {
		delete(s.beyond, n)
		return
	}
	if m == nil {
		_, err := s.join(st)
		if known, ok := s.beyond[n]; err != nil && (!ok || known != st.ID) {
			s.beyond[n] = st.ID
			s.errs = append(s.errs, err)
		}
		return
	}
	s.update(m, st)
}

// join adds a machine.
func (s *Scheduler[J, T]) join(st omega.MachineState) (*machine[J, T], error) {
	n := st.ID.Node()
	if err := s.planner.AddMachine(quincy.Machine{Node: n, Rack: s.cfg.Rack(st), Slots: 1}); err != nil {
		return nil, fault.Newf("flow", err, "machine %q", st.Name)
	}
	for int(n) >= len(s.machines) {
		s.machines = append(s.machines, nil)
	}
	m := &machine[J, T]{id: st.ID, node: n, name: st.Name, slots: 1}
	s.machines[n] = m
	delete(s.beyond, n)
	s.slots++
	s.joined = true
	s.update(m, st)
	return m, nil
}

// update notes what a machine has free.
func (s *Scheduler[J, T]) update(m *machine[J, T], st omega.MachineState) {
	m.all, m.free, m.cond = st.Capacity, m.freeIn(s.cfg.Scheduler.Snapshot(), st.Free), st.Condition
	s.touch(m)
	s.stirs++
	clear(s.fits)
	clear(s.able)
}

// lose forgets a machine that is gone, and all that ran there.
func (s *Scheduler[J, T]) lose(m *machine[J, T]) {
	s.machines[m.node] = nil
	s.freed = true
	if s.kept.on == m {
		s.unkeep()
	}
	clear(s.fits)
	clear(s.able)
	s.slots -= m.slots
	for len(m.here) > 0 {
		tk := m.here[0]
		if tk.runs() {
			s.leave(tk)
		}
		s.unplan(tk)
		s.seeks(tk)
	}
	for _, h := range m.holds {
		h.unbook()
		if tk := h.task; tk != nil {
			s.report.Stop = append(s.report.Stop, Stop[T]{Task: tk.key, Machine: m.id, Reason: Lost})
			tk.run = nil
			s.free(h) // which acknowledges it
		}
	}
	err := s.planner.RemoveMachine(m.node, s.now)
	if err != nil {
		s.errs = append(s.errs, err)
		s.bare = true
		_ = s.planner.RemoveMachine(m.node, s.now) // it was the caller's arcs
		s.bare = false
	}
}

// take notes that h was preempted by another scheduler: its room is gone, and who
// runs there has to leave, by then if it was told to already.
func (s *Scheduler[J, T]) take(h *hold[J, T], until time.Time) {
	h.unbook()
	s.touch(h.on)
	tk := h.task
	if tk == nil {
		return
	}
	if tk.run == h {
		s.report.Stop = append(s.report.Stop, Stop[T]{Task: tk.key, Machine: h.on.id, Reason: Taken, By: until})
		if h.leaving {
			return
		}
		s.leave(tk)
	}
	s.unplan(tk)
	s.replan(tk)
	s.seeks(tk)
}

// reopen looks whether the scheduler may claim machines again that it was
// refused.
func (s *Scheduler[J, T]) reopen(snap *omega.Snapshot) {
	s.barred = filter(s.barred, func(m *machine[J, T]) bool {
		if s.machines[m.node] == m && m.cond == omega.Ready && !may(snap, m.node) {
			return true
		}
		m.barred = false
		s.touch(m)
		return false
	})
}

// may reports whether the scheduler may claim n, which takes claims.
func may(snap *omega.Snapshot, n locality.Node) bool {
	one := iter.Seq[locality.Node](func(yield func(locality.Node) bool) { yield(n) })
	_, ok := snap.Find(omega.Query{Need: resources.Vector{}, Among: one}, omega.NextFit())
	return ok
}

// filter keeps those of list that keep is true of.
func filter[E any](list []E, keep func(E) bool) []E {
	kept := list[:0]
	for _, e := range list {
		if keep(e) {
			kept = append(kept, e)
		}
	}
	clear(list[len(kept):])
	return kept
}

// ask asks for the arcs of a task again.
func (s *Scheduler[J, T]) ask(tk *task[J, T]) {
	if err := s.planner.UpdateTask(tk.key, s.now); err != nil {
		s.errs = append(s.errs, err)
	}
}
