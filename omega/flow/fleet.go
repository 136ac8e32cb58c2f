package flow

import (
	"fmt"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// fleet is the machines as the scheduler last saw them. It tracks the machines to pass on
// to the planner, and the machines with room for a need.
type fleet[J, T comparable] struct {
	cfg *Config[T]

	machines []*machine[J, T]                  // by number; nil where there is none
	slots    int                               // of all machines
	beyond   map[locality.Node]omega.MachineID // that the planner has no room for
	freed    bool                              // it may have some since

	dirty      []*machine[J, T] // with slots to be counted again
	extraSlots []*machine[J, T] // with a slot more than are free
	forbidden  []*machine[J, T] // that the scheduler may not claim

	epoch  int  // changes of machines, and ends of tasks
	resync bool // some machine may have been missed
	joined bool // machines have come

	// Kept for one round.
	fits       map[resources.Vector]*fits[J, T]
	couldFitOf map[resources.Vector]bool // whether a machine has as much
	turn       int                       // where the next search among them begins
}

// reread reads m after a commit, which the next refresh does not report.
func (fl *fleet[J, T]) reread(m *machine[J, T]) {
	fl.markDirty(m)
	if st, ok := fl.cfg.Cell.State(m.id); ok {
		m.free, m.cond = m.freeIn(fl.cfg.Scheduler.Snapshot(), st.Free), st.Condition
	} else {
		fl.resync = true
	}
}

// fitting returns the machines that have room for need now. They are cached
// for the round. Cost: O(machines), and O(1) when it is asked again.
func (fl *fleet[J, T]) fitting(need *resources.Vector) *fits[J, T] {
	if f := fl.fits[*need]; f != nil {
		return f
	}
	f := &fits[J, T]{}
	for _, m := range fl.machines {
		switch {
		case m == nil || !m.fits(need):
		case m.freeSlots(&fl.cfg.Slot) > 0:
			f.all[0] = append(f.all[0], m)
		default:
			f.all[1] = append(f.all[1], m)
		}
	}
	fl.fits[*need] = f
	return f
}

// lacking names the part of need that is missing on the machine that comes nearest to
// having it.
func (fl *fleet[J, T]) lacking(need *resources.Vector) string {
	least, missing, machines := 2.0, resources.Vector{}, 0
	for _, m := range fl.machines {
		if m == nil {
			continue
		}
		machines++
		if part := lackOf(need, &m.all); part < least {
			least = part
			for k, q := range need {
				missing[k] = max(0, q-m.all[k])
			}
		}
	}
	if machines == 0 {
		return "there is no machine"
	}
	return fmt.Sprintf("missing %s on the nearest of %d machines", fl.cfg.Cell.Space().Format(missing), machines)
}

// forgetRoom clears the caches of a round: machines have changed, or another round begins.
func (fl *fleet[J, T]) forgetRoom() {
	clear(fl.fits)
	clear(fl.couldFitOf)
}

// markDirty has the slots of m counted again before the next plan.
func (fl *fleet[J, T]) markDirty(m *machine[J, T]) {
	if !m.dirty {
		m.dirty = true
		fl.dirty = append(fl.dirty, m)
	}
}

// couldFit reports whether a machine has room for need when it is empty. The answer is
// cached for the round.
func (fl *fleet[J, T]) couldFit(need *resources.Vector) bool {
	yes, ok := fl.couldFitOf[*need]
	if !ok {
		yes = slices.ContainsFunc(fl.machines, func(m *machine[J, T]) bool { return m != nil && resources.Fits(need, &m.all) })
		fl.couldFitOf[*need] = yes
	}
	return yes
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

// fits are the machines that have room for a need now.
type fits[J, T comparable] struct {
	all   split[J, T]
	racks map[quincy.Rack]split[J, T] // nil until in is called
}

// split are machines: first the ones with a free slot, then the others.
type split[J, T comparable] [2][]*machine[J, T]

// in returns the machines of f in a rack. Cost: O(machines) at the first call, and
// O(1) for each further rack.
func (f *fits[J, T]) in(rack quincy.Rack, racks *quincy.Racks) split[J, T] {
	if f.racks == nil {
		f.racks = map[quincy.Rack]split[J, T]{}
		for i, all := range f.all {
			for _, m := range all {
				of, _ := racks.Of(m.node)
				there := f.racks[of]
				there[i] = append(there[i], m)
				f.racks[of] = there
			}
		}
	}
	return f.racks[rack]
}
