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

// watch brings the scheduler's state of the cell up to date.
type watch[J, T comparable] struct {
	cfg      *Config[T]
	fleet    *fleet[J, T]
	round    *outcome[T]
	book     *book[J, T]
	reserver *reserver[J, T]
	exchange *exchange[J, T]

	changed []omega.MachineState // scratch of look
}

// sight is the result of a refresh.
type sight struct {
	fresh bool             // the store has let it
	left  resources.Vector // by the limits of the cell's scheduler
}

// look finds machines that have come, changed and gone, and allocations of the
// scheduler that others have preempted.
func (w *watch[J, T]) look(ctx context.Context, now time.Time) (seen sight) {
	seen.fresh = w.refresh(ctx, now)
	seen.left, _ = w.cfg.Scheduler.Left()
	return seen
}

// refresh is look without limits. It reports whether the store has let it.
func (w *watch[J, T]) refresh(ctx context.Context, now time.Time) bool {
	w.changed = w.changed[:0]
	var snap *omega.Snapshot
	var err error
	w.exchange.unlocked(func() {
		snap, err = w.exchange.attempt.BeginEach(ctx, now, func(st omega.MachineState) { w.changed = append(w.changed, st) })
	})
	if err != nil {
		w.round.fail(err)
		return false
	}
	for _, st := range w.changed {
		w.see(st)
	}
	// A machine may have been missed, or one beyond the planner's maximum may have a place
	// now. Then all machines are read, not only the changed ones.
	if w.fleet.resync || w.fleet.freed && len(w.fleet.beyond) > 0 {
		w.fleet.resync, w.fleet.freed = false, false
		there := make([]bool, snap.Len())
		for st := range snap.Machines() {
			there[st.ID.Node()] = true
			w.see(st)
		}
		for n := range w.fleet.beyond {
			if !there[n] {
				delete(w.fleet.beyond, n)
			}
		}
		for n, m := range w.fleet.machines {
			if m != nil && !there[n] {
				w.lose(m)
			}
		}
	}
	for mark := range w.cfg.Scheduler.Marked() {
		if h := w.book.held[mark.Allocation.ID]; h != nil && h.booked && mark.Fate == omega.Preempted {
			w.take(h, mark.Until)
		}
	}
	w.reserver.recount(snap)
	w.reopen(snap)
	if w.fleet.joined {
		// The caller may want arcs to the machines that have come.
		w.fleet.joined = false
		for _, tk := range w.book.list {
			w.book.ask(tk)
		}
	}
	return true
}

// see takes over the present state of a machine.
func (w *watch[J, T]) see(st omega.MachineState) {
	n := st.ID.Node()
	var m *machine[J, T]
	if int(n) < len(w.fleet.machines) {
		m = w.fleet.machines[n]
	}
	if m != nil && (m.id != st.ID || st.Condition == omega.Removed) {
		// The number serves another machine, or none: all that ran here is lost.
		w.lose(m)
		m = nil
	}
	if st.Condition == omega.Removed {
		delete(w.fleet.beyond, n)
		return
	}
	if m == nil {
		_, err := w.join(st)
		if known, ok := w.fleet.beyond[n]; err != nil && (!ok || known != st.ID) {
			w.fleet.beyond[n] = st.ID
			w.round.fail(err)
		}
		return
	}
	w.update(m, st)
}

// join adds a machine.
func (w *watch[J, T]) join(st omega.MachineState) (*machine[J, T], error) {
	n := st.ID.Node()
	if err := w.book.planner.AddMachine(quincy.Machine{Node: n, Rack: w.cfg.Rack(st), Slots: 1}); err != nil {
		return nil, fault.Newf("flow", err, "machine %q", st.Name)
	}
	for int(n) >= len(w.fleet.machines) {
		w.fleet.machines = append(w.fleet.machines, nil)
	}
	m := &machine[J, T]{id: st.ID, node: n, name: st.Name, slots: 1}
	w.fleet.machines[n] = m
	delete(w.fleet.beyond, n)
	w.fleet.slots++
	w.fleet.joined = true
	w.update(m, st)
	return m, nil
}

// update notes the free room of a machine.
func (w *watch[J, T]) update(m *machine[J, T], st omega.MachineState) {
	m.all, m.free, m.cond = st.Capacity, m.freeIn(w.cfg.Scheduler.Snapshot(), st.Free), st.Condition
	w.fleet.markDirty(m)
	w.fleet.epoch++
	w.fleet.forgetRoom()
}

// lose forgets a machine that is gone, and all that ran there.
func (w *watch[J, T]) lose(m *machine[J, T]) {
	w.fleet.machines[m.node] = nil
	w.fleet.freed = true
	if w.reserver.current.on == m {
		w.reserver.unreserve()
	}
	w.fleet.forgetRoom()
	w.fleet.slots -= m.slots
	for len(m.here) > 0 {
		tk := m.here[0]
		if tk.runs() {
			w.book.endRun(tk)
		}
		w.book.unplan(tk)
		w.book.listExact(tk)
	}
	for _, h := range m.holds {
		h.unbook()
		if tk := h.task; tk != nil {
			w.round.report.Stop = append(w.round.report.Stop, Stop[T]{Task: tk.key, Machine: m.id, Reason: Lost})
			tk.run = nil
			w.book.free(h) // which acknowledges it
		}
	}
	err := w.book.planner.RemoveMachine(m.node, w.book.now)
	if err != nil {
		w.round.fail(err)
		w.book.bare = true
		_ = w.book.planner.RemoveMachine(m.node, w.book.now) // it was the caller's arcs
		w.book.bare = false
	}
}

// take notes that h was preempted by another scheduler. Its room is gone, and its task
// has to leave by until, also if it was told to leave already.
func (w *watch[J, T]) take(h *hold[J, T], until time.Time) {
	h.unbook()
	w.fleet.markDirty(h.on)
	tk := h.task
	if tk == nil {
		return
	}
	if tk.run == h {
		w.round.report.Stop = append(w.round.report.Stop, Stop[T]{Task: tk.key, Machine: h.on.id, Reason: Taken, By: until})
		if h.ending {
			return
		}
		w.book.endRun(tk)
	}
	w.book.unplan(tk)
	w.book.replan(tk)
	w.book.listExact(tk)
}

// reopen looks whether the scheduler may claim machines again that it was
// refused.
func (w *watch[J, T]) reopen(snap *omega.Snapshot) {
	w.fleet.forbidden = filter(w.fleet.forbidden, func(m *machine[J, T]) bool {
		if w.fleet.machines[m.node] == m && m.cond == omega.Ready && !mayClaim(snap, m.node) {
			return true
		}
		m.forbidden = false
		w.fleet.markDirty(m)
		return false
	})
}

// mayClaim reports whether the scheduler may claim n, which takes claims.
func mayClaim(snap *omega.Snapshot, n locality.Node) bool {
	one := iter.Seq[locality.Node](func(yield func(locality.Node) bool) { yield(n) })
	_, ok := snap.Find(omega.Query{Need: resources.Vector{}, Among: one}, omega.NextFit())
	return ok
}

// filter keeps the elements of list for which keep is true.
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
