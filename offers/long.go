package offers

import (
	"cmp"
	"fmt"
	"slices"

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

// longLaunch is what a launch has to do with long tasks, or several on one machine
// or in the cell: how much they need, how much is kept for them by their offers, and
// how much the optimistic ones among these have shown.
type longLaunch struct {
	on                *node
	need, kept, shown resources.Vector
}

func (l *longLaunch) add(one *longLaunch) {
	l.need, l.kept, l.shown = l.need.Add(one.need), l.kept.Add(one.kept), l.shown.Add(one.shown)
}

// capsLong tells whether there is a cap.
func (m *Master) capsLong() bool { return m.cfg.LongOnMachine > 0 || m.cfg.LongInCell > 0 }

// promise says how much of an offer long tasks may take and by when to leave, now that
// its framework is told of it, and keeps that much of the caps for it. Before, an offer would keep
// it from others for nothing.
func (m *Master) promise(o *offer) {
	o.told, o.seen, o.Long, o.Leave = true, true, o.Room, o.node.leave
	if !m.capsLong() {
		return
	}
	n := o.node
	o.Long = left(o.Long, n.capacity, m.cfg.LongOnMachine, n.long.Add(n.promised))
	o.Long = left(o.Long, m.total, m.cfg.LongInCell, m.long.Add(m.promised).Add(o.to.shown))
	if o.kept() {
		n.promised, m.promised = n.promised.Add(o.Long), m.promised.Add(o.Long)
	} else {
		o.to.shown = o.to.shown.Add(o.Long)
	}
}

// unpromise ends that: the offer has ended, or is to be told again.
func (m *Master) unpromise(o *offer) {
	if !o.told {
		return
	}
	if n := o.node; o.kept() {
		n.promised, _ = n.promised.Sub(o.Long)
		m.promised, _ = m.promised.Sub(o.Long)
	} else {
		o.to.shown, _ = o.to.shown.Sub(o.Long)
	}
}

// left returns how much of want is within so many per cent of a total, of which
// some is taken. Without a cap it is all.
func left(want, total resources.Vector, percent int, taken resources.Vector) resources.Vector {
	if percent == 0 {
		return want
	}
	for k, most := range part(total, percent) {
		want[k] = max(0, min(want[k], most-taken[k]))
	}
	return want
}

// admitLong notes what a launch, whose offers were admitted last, has to do with
// long tasks.
func (a *accepting) admitLong(on *node, l *Launch, need resources.Vector) {
	one := longLaunch{on: on, need: need}
	for _, o := range a.offers[len(a.offers)-len(l.Offers):] {
		if o.kept() {
			one.kept = one.kept.Add(o.Long)
		} else {
			one.shown = one.shown.Add(o.Long)
		}
	}
	a.longs = append(a.longs, one)
}

// longFits says whether the long tasks of an accept are no more than what is kept
// for them, or are within the caps, beside what others have and what is kept for
// these.
func (m *Master) longFits(a *accepting, f *member) error {
	kept, shown := true, true
	var all longLaunch
	for i := range a.longs {
		l := &a.longs[i]
		kept, shown = kept && l.need.Fits(l.kept), shown && l.need.Fits(l.kept.Add(l.shown))
		all.add(l)
	}
	if kept {
		return nil
	}
	slices.SortStableFunc(a.longs, func(l, r longLaunch) int { return cmp.Compare(l.on.number, r.on.number) })
	var on *node // which machine err is about, nil for the cell
	var err error
	for rest := a.longs; len(rest) > 0 && err == nil; {
		one := longLaunch{on: rest[0].on}
		for len(rest) > 0 && rest[0].on == one.on {
			one.add(&rest[0])
			rest = rest[1:]
		}
		on = one.on
		err = m.longWithin(f, &one, "its machine", one.on.capacity, m.cfg.LongOnMachine, one.on.long, one.on.promised)
	}
	if err == nil {
		on = nil
		err = m.longWithin(f, &all, "the cell", m.total, m.cfg.LongInCell, m.long, m.promised)
	}
	if err != nil && shown {
		return m.conflicted(a, f, on, err) // others were faster
	}
	return err
}

// longWithin is longFits for one cap.
func (m *Master) longWithin(
	f *member, l *longLaunch, of string, total resources.Vector, percent int, held, promised resources.Vector,
) error {
	others, _ := promised.Sub(l.kept)
	if free := left(l.need, total, percent, held.Add(others)); l.need.Fits(l.kept.Max(free)) {
		return nil
	}
	return fmt.Errorf("%w: framework %q: long tasks need %s more, have %s, others are offered %s, may have %d%% of %s: %s",
		ErrExceeds, f.name, m.format(l.need), m.format(held), m.format(others), percent, of, m.format(part(total, percent)))
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
