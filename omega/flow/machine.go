package flow

import (
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// machine is a machine as the scheduler last saw it, with the scheduler's holds and tasks
// there. The free room, and the room that is to become free, contain the promises.
type machine[J, T comparable] struct {
	id   omega.MachineID
	node locality.Node
	name string
	cond omega.Condition
	all  resources.Vector // its capacity
	free resources.Vector

	holds     []*hold[J, T]
	leaving   resources.Vector // of the holds that are to become free
	releasing resources.Vector // of those of them that have ended

	here     []*task[J, T] // by the plan
	smalls   int           // how many of them need no more than a slot
	small    resources.Vector
	promised []*task[J, T] // those that have no allocation here yet, first come first

	slots  int
	hint   bool // there is one more than are free
	barred bool // the scheduler may not claim it
	kept   bool // for one task: see Scheduler.kept

	reservation omega.ReservationID // of the scheduler's own, 0 for none

	dirty, awaits, queued bool
}

// left returns the rest of a machine for others, once all promises are given and all
// leaving holds are gone; false if not all promises can be given.
func (m *machine[J, T]) left() (resources.Vector, bool) {
	room := m.free.Add(m.leaving)
	for _, tk := range m.promised {
		var ok bool
		if room, ok = room.Sub(tk.want.Need); !ok {
			return resources.Vector{}, false
		}
	}
	return room, true
}

// spares reports whether m has room for need once all that is promised has been
// given and all that leaves has gone.
func (m *machine[J, T]) spares(need *resources.Vector) bool {
	left, ok := m.left()
	return ok && resources.Fits(need, &left)
}

// takes reports whether m takes claims.
func (m *machine[J, T]) takes() bool { return m.cond == omega.Ready && !m.barred }

// spare returns how many slots are free on m.
func (m *machine[J, T]) spare(slot *resources.Vector) int {
	left, ok := m.left()
	if !ok || !m.takes() || m.kept {
		return 0
	}
	return max(0, times(left.Add(m.small), slot)-m.smalls)
}

// times returns how often slot fits in room.
func times(room resources.Vector, slot *resources.Vector) int {
	n := int64(quincy.MaxSlots)
	for k, q := range slot {
		if q > 0 {
			n = min(n, room[k]/q)
		}
	}
	return int(n)
}

// leave says that h is to become free.
func (h *hold[J, T]) leave() {
	if !h.leaving {
		h.leaving = true
		if h.booked {
			h.on.leaving = h.on.leaving.Add(h.need)
		}
	}
}

// stay takes that back.
func (h *hold[J, T]) stay() {
	h.leaving = false
	if h.booked {
		h.on.leaving, _ = h.on.leaving.Sub(h.need)
	}
}

// unbook says that the cell does not count h any more.
func (h *hold[J, T]) unbook() {
	if !h.booked {
		return
	}
	h.booked = false
	if h.leaving {
		h.on.leaving, _ = h.on.leaving.Sub(h.need)
		if h.task == nil {
			h.on.releasing, _ = h.on.releasing.Sub(h.need)
		}
	}
}

// fits reports whether m has room for need now that is neither promised nor kept.
func (m *machine[J, T]) fits(need *resources.Vector) bool {
	return m.takes() && !m.kept && m.spares(need)
}

// freeIn returns the room of a machine that is free for the scheduler, with its own
// reservation there for a task.
func (m *machine[J, T]) freeIn(snap *omega.Snapshot, otherwise resources.Vector) resources.Vector {
	if free, ok := snap.FreeFor(m.id, m.reservation); ok {
		return free
	}
	return otherwise
}
