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
	ending    resources.Vector // of the holds that are to become free
	releasing resources.Vector // of the holds that have ended

	here     []*task[J, T] // by the plan
	smalls   int           // the number of tasks here that need at most a slot
	small    resources.Vector
	promised []*task[J, T] // tasks without an allocation here yet, first come first

	slots     int
	extraSlot bool // there is one more than are free
	forbidden bool // the scheduler may not claim it
	reserved  bool // for one task: see reserver.current

	reservation omega.ReservationID // of the scheduler's own, 0 for none

	dirty, awaits, queued bool
}

// left returns the rest of a machine for other tasks, once all promises are given and all
// ending allocations are gone. It is false if not all promises can be given.
func (m *machine[J, T]) left() (resources.Vector, bool) {
	room := m.free.Add(m.ending)
	for _, tk := range m.promised {
		var ok bool
		if room, ok = room.Sub(tk.want.Need); !ok {
			return resources.Vector{}, false
		}
	}
	return room, true
}

// fitsBesidePromises reports whether m has room for need once all promises are given and all
// ending allocations are gone.
func (m *machine[J, T]) fitsBesidePromises(need *resources.Vector) bool {
	left, ok := m.left()
	return ok && resources.Fits(need, &left)
}

// takes reports whether m takes claims.
func (m *machine[J, T]) takes() bool { return m.cond == omega.Ready && !m.forbidden }

// freeSlots returns how many slots are free on m.
func (m *machine[J, T]) freeSlots(slot *resources.Vector) int {
	left, ok := m.left()
	if !ok || !m.takes() || m.reserved {
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

// end notes that h is to become free.
func (h *hold[J, T]) end() {
	if !h.ending {
		h.ending = true
		if h.booked {
			h.on.ending = h.on.ending.Add(h.need)
		}
	}
}

// keepOn cancels end.
func (h *hold[J, T]) keepOn() {
	h.ending = false
	if h.booked {
		h.on.ending, _ = h.on.ending.Sub(h.need)
	}
}

// unbook notes that the cell does not count h any more.
func (h *hold[J, T]) unbook() {
	if !h.booked {
		return
	}
	h.booked = false
	if h.ending {
		h.on.ending, _ = h.on.ending.Sub(h.need)
		if h.task == nil {
			h.on.releasing, _ = h.on.releasing.Sub(h.need)
		}
	}
}

// fits reports whether m has room for need now that is neither promised nor reserved.
func (m *machine[J, T]) fits(need *resources.Vector) bool {
	return m.takes() && !m.reserved && m.fitsBesidePromises(need)
}

// freeIn returns the room of a machine that is free for the scheduler, with its own
// reservation there for a task.
func (m *machine[J, T]) freeIn(snap *omega.Snapshot, otherwise resources.Vector) resources.Vector {
	if free, ok := snap.FreeFor(m.id, m.reservation); ok {
		return free
	}
	return otherwise
}
