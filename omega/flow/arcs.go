package flow

import "github.com/cellsched/cellsched/locality/quincy"

// maxExactArcs is the number of machines that an arc to a rack or the cluster stands for,
// for a task that needs more than a slot.
const maxExactArcs = 8

// arcs turns the caller's arcs into arcs that the planner can use.
type arcs[J, T comparable] struct {
	cfg      *Config[T]
	book     *book[J, T]
	fleet    *fleet[J, T]
	reserver *reserver[J, T]

	scratch []quincy.Arc
}

// arcsOf is the planner's Arcs: the caller's, as far as they can be used.
func (ac *arcs[J, T]) arcsOf(arcs []quincy.Arc, t T, state quincy.State, now int64) []quincy.Arc {
	tk := ac.book.tasks[t]
	tk.correct(&state, now)
	first := len(arcs)
	if ac.book.bare {
		arcs = append(arcs, quincy.Arc{To: quincy.Unscheduled()})
		if state.Running {
			arcs = append(arcs, quincy.Arc{To: quincy.OnMachine(state.On)})
		}
		tk.flag(!state.Running, false)
		return arcs
	}
	ac.scratch = ac.cfg.Arcs(ac.scratch[:0], t, state, now)
	if k := ac.reserver.choosing; k != nil {
		ac.reserver.choose(k, ac.scratch, state.Racks)
	}
	assured := tk.assured && state.Running
	mayWait := assured // wait
	for _, a := range ac.scratch {
		if a.To == quincy.Unscheduled() && !assured {
			mayWait = true
			arcs = append(arcs, a)
		}
	}
	if !mayWait && !state.Running {
		// The caller wants it to run now. The plan needs a way out all the same, at the
		// highest cost.
		arcs = append(arcs, quincy.Arc{To: quincy.Unscheduled(), Cost: quincy.MaxCost})
	}
	waits := len(arcs) - first
	tk.gain = gainOf(ac.scratch, state, now)
	ac.setUnwilling(tk, state)
	if tk.swappedOut && state.Running { // the other task of the swap pays for that
		tk.flag(false, false)
		return append(arcs[:first], quincy.Arc{To: quincy.Unscheduled()}, quincy.Arc{To: quincy.OnMachine(state.On), Cost: quincy.MaxCost})
	}
	denied := !state.Running && (tk.limited || tk.swappedOut)
	for _, a := range ac.scratch {
		switch {
		case denied || a.To == quincy.Unscheduled():
		case state.Running && (!tk.small || tk.exact && tk.runs()): // it is not moved
			if a.To == quincy.OnMachine(state.On) {
				arcs = append(arcs, a)
			}
		case !state.Running && (tk.exact || !tk.small):
			arcs = ac.exactArcs(arcs, first, tk, a, state.Racks)
		case ac.known(a.To, state.Racks):
			arcs = append(arcs, a)
		}
	}
	tk.flag(len(arcs)-first == waits, waits == 0)
	return arcs
}

// known reports whether there is a machine that to leads to.
func (ac *arcs[J, T]) known(to quincy.Target, racks *quincy.Racks) bool {
	if n, ok := to.Machine(); ok {
		_, ok = racks.Of(n)
		return ok
	}
	if rack, ok := to.Rack(); ok {
		return len(racks.Nodes(rack)) > 0
	}
	return true
}

// exactArcs appends arcs to machines that a leads to where tk fits now. If a leads to many
// machines, it appends arcs to a few of them, different ones each time. The cost of a rack
// or of the cluster is the cost to its worst machine, so it is enough for each of its
// machines.
func (ac *arcs[J, T]) exactArcs(arcs []quincy.Arc, first int, tk *task[J, T], a quincy.Arc, racks *quincy.Racks) []quincy.Arc {
	if n, ok := a.To.Machine(); ok {
		if _, ok = racks.Of(n); ok && ac.fleet.machines[n].fits(&tk.want.Need) {
			arcs = ac.addArc(arcs, first, ac.fleet.machines[n], a)
		}
		return arcs
	}
	fit := ac.fleet.fitting(&tk.want.Need)
	there := fit.all
	if rack, within := a.To.Rack(); within {
		there = fit.in(rack, racks)
	}
	left := maxExactArcs
	for _, all := range there {
		for i := range all {
			m := all[(ac.fleet.turn+i)%len(all)]
			if left == 0 {
				ac.fleet.turn += i
				return arcs
			}
			left--
			arcs = ac.addArc(arcs, first, m, a)
		}
	}
	return arcs
}

// addArc appends an arc to m at the cost of a, unless there is one from first on.
func (ac *arcs[J, T]) addArc(arcs []quincy.Arc, first int, m *machine[J, T], a quincy.Arc) []quincy.Arc {
	to := quincy.OnMachine(m.node)
	for _, b := range arcs[first:] {
		if b.To == to {
			return arcs
		}
	}
	if !m.extraSlot && m.freeSlots(&ac.cfg.Slot) == 0 {
		// The task fits where no whole slot is free: the planner gets one for it.
		m.extraSlot = true
		ac.fleet.extraSlots = append(ac.fleet.extraSlots, m)
		ac.fleet.markDirty(m)
	}
	return append(arcs, quincy.Arc{To: to, Cost: a.Cost, Rate: a.Rate})
}

// setUnwilling notes whether tk is unwilling: it waits, and waiting costs no more than
// each of its arcs, now and later.
func (ac *arcs[J, T]) setUnwilling(tk *task[J, T], state quincy.State) {
	change(&ac.book.unwilling, &tk.unwilling, !state.Running && tk.gain.cost <= 0 && tk.gain.rate <= 0)
}

// retarget asks again for the arcs of exact tasks, which wait for a machine where they fit.
//
// Progress: while nothing else happens and the plan sends any task anywhere, a task is
// claimed after at most as many rounds as there are tasks. Call a task exact if it has
// arcs only to machines where it fits.
//
//  1. Of the exact tasks, the first that is sent to a machine is claimed there.
//  2. So a round that claims no task has made a task exact, or the cell has refused a
//     claim, as others have committed in between.
//  3. An exact task stays so for the next round, and until a machine has changed or a
//     task has ended, and for as long as no machine has room for it.
//  4. So while nothing else happens, each round without a claim lowers the number of
//     tasks that are not exact.
//  5. A task that fits an empty cell, with a slot where it needs no more, so runs when
//     enough of the others have ended.
func (ac *arcs[J, T]) retarget() {
	for _, m := range ac.fleet.extraSlots {
		m.extraSlot = false
		ac.fleet.markDirty(m)
	}
	ac.fleet.extraSlots = ac.fleet.extraSlots[:0]
	for i := len(ac.book.exactTasks) - 1; i >= 0; i-- {
		// A task of at most a slot may go to all machines again on three conditions: it
		// had a round with exact arcs, something has changed since, and some machine is
		// large enough. Without the last, the plan would send it each time to a slot that
		// it does not fit.
		tk := ac.book.exactTasks[i]
		if tk.exact && tk.small && tk.retargeted && tk.sentEpoch != ac.fleet.epoch && ac.fleet.couldFit(&tk.want.Need) {
			tk.exact = false
			ac.book.unlistExact(tk)
		}
		tk.retargeted = true
		ac.book.ask(tk)
	}
}
