package offers

import (
	"fmt"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// longTask is a task that its framework has called long. The paper, section 4.3,
// proposes that such tasks leave a part of each machine to others: else all slots
// of one may be full of them, with nothing left that ends soon.
type longTask struct {
	of      *member
	machine omega.MachineID
	need    resources.Vector
}

// longFits says whether that much more of long tasks on a machine is within the
// caps.
func (m *Master) longFits(a *accepting, f *member, n *node, more resources.Vector) error {
	on := more // of the launches on this machine
	for _, l := range a.longs {
		if l.machine == n.id {
			on = on.Add(l.need)
		}
	}
	a.longs = append(a.longs, longTask{f, n.id, more})
	a.long = a.long.Add(more)
	for _, c := range []struct {
		percent           int
		held, more, total resources.Vector
		of                string
	}{
		{m.cfg.LongOnMachine, n.long, on, n.capacity, "its machine"},
		{m.cfg.LongInCell, m.long, a.long, m.total, "the cell"},
	} {
		if most := part(c.total, c.percent); c.percent > 0 && !c.held.Add(c.more).Fits(most) {
			return fmt.Errorf("%w: framework %q: long tasks need %s more, have %s, may have %d%% of %s: %s", ErrExceeds,
				f.name, m.format(c.more), m.format(c.held), c.percent, c.of, m.format(most))
		}
	}
	return nil
}

// part returns so many per cent of a total, rounded down.
func part(total resources.Vector, percent int) (v resources.Vector) {
	for k, q := range total {
		v[k] = q/100*int64(percent) + q%100*int64(percent)/100
	}
	return v
}

// began notes a long task.
func (m *Master) began(f *member, id omega.AllocationID, n *node, need resources.Vector) {
	m.longs[id] = longTask{f, n.id, need}
	n.long, m.long = n.long.Add(need), m.long.Add(need)
}

// ended forgets a task, if it was a long one.
func (m *Master) ended(id omega.AllocationID) {
	l, ok := m.longs[id]
	if !ok {
		return
	}
	delete(m.longs, id)
	m.long, _ = m.long.Sub(l.need)
	if n := m.nodeOf(l.machine); n != nil {
		n.long, _ = n.long.Sub(l.need)
	}
}

// remember notes which of the tasks of a framework are long.
func (m *Master) remember(f *member, ids []omega.AllocationID) {
	if len(ids) == 0 {
		return
	}
	long := make(map[omega.AllocationID]bool, len(ids))
	for _, id := range ids {
		long[id] = true
	}
	for a := range f.sched.Allocations() {
		n := m.nodeOf(a.Machine)
		if _, known := m.longs[a.ID]; !known && long[a.ID] && n != nil {
			m.began(f, a.ID, n, a.Need)
		}
	}
}

// forgetLong forgets all long tasks of a framework.
func (m *Master) forgetLong(f *member) {
	for id, l := range m.longs { // what is left does not depend on the order
		if l.of == f {
			m.ended(id)
		}
	}
}
