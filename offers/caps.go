package offers

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// caps limits the amounts that long tasks hold, of each machine and of the cell.
type caps struct {
	*client
	floor *floor

	longs    map[omega.AllocationID]longTask
	long     resources.Vector // what they add up to
	promised resources.Vector // what offers keep for such
}

// enabled reports whether there is a cap.
func (cp *caps) enabled() bool { return cp.cfg.LongOnMachine > 0 || cp.cfg.LongInCell > 0 }

// promise fills in Long and Leave of an offer, now that its framework reads of it, and
// keeps that much of the caps for it. If it kept them earlier, an unread offer would keep
// them from others for nothing.
func (cp *caps) promise(o *offer) {
	o.told, o.seen, o.Long, o.Leave = true, true, o.Room, o.node.leaveBy
	if !cp.enabled() {
		return
	}
	n := o.node
	o.Long = withinCap(o.Long, n.capacity, cp.cfg.LongOnMachine, n.long.Add(n.promised))
	o.Long = withinCap(o.Long, cp.total, cp.cfg.LongInCell, cp.long.Add(cp.promised).Add(o.to.shown))
	if o.kept() {
		n.promised, cp.promised = n.promised.Add(o.Long), cp.promised.Add(o.Long)
	} else {
		o.to.shown = o.to.shown.Add(o.Long)
	}
}

// unpromise ends that: the offer has ended, or is to be told again.
func (cp *caps) unpromise(o *offer) {
	if !o.told {
		return
	}
	if n := o.node; o.kept() {
		n.promised, _ = n.promised.Sub(o.Long)
		cp.promised, _ = cp.promised.Sub(o.Long)
	} else {
		o.to.shown, _ = o.to.shown.Sub(o.Long)
	}
}

// withinCap returns how much of want is within so many per cent of a total, of which
// some is taken. Without a cap it is all.
func withinCap(want, total resources.Vector, percent int, taken resources.Vector) resources.Vector {
	if percent == 0 {
		return want
	}
	for k, most := range part(total, percent) {
		want[k] = max(0, min(want[k], most-taken[k]))
	}
	return want
}

// check returns an error if the long tasks of an accept exceed both the room that their
// offers keep for them and the caps. The caps count other long tasks, and the room that
// other offers keep for long tasks.
//
// In case of an error, on is the machine that it is about, nil for the cell. Late reports
// that the offers had shown as much, and others were faster.
func (cp *caps) check(a *accepting, f *member) (on *node, late bool, err error) {
	kept, shown := true, true
	var all longLaunch
	for i := range a.longs {
		l := &a.longs[i]
		kept, shown = kept && l.need.Fits(l.kept), shown && l.need.Fits(l.kept.Add(l.shown))
		all.add(l)
	}
	if kept {
		return nil, false, nil
	}
	slices.SortStableFunc(a.longs, func(l, r longLaunch) int { return cmp.Compare(l.on.number, r.on.number) })
	for rest := a.longs; len(rest) > 0 && err == nil; {
		one := longLaunch{on: rest[0].on}
		for len(rest) > 0 && rest[0].on == one.on {
			one.add(&rest[0])
			rest = rest[1:]
		}
		on = one.on
		err = cp.within(f, &one, "its machine", one.on.capacity, cp.cfg.LongOnMachine, one.on.long, one.on.promised)
	}
	if err == nil {
		on = nil
		err = cp.within(f, &all, "the cell", cp.total, cp.cfg.LongInCell, cp.long, cp.promised)
	}
	return on, err != nil && shown, err
}

// within is check for one cap.
func (cp *caps) within(
	f *member, l *longLaunch, of string, total resources.Vector, percent int, held, promised resources.Vector,
) error {
	others, _ := promised.Sub(l.kept)
	if free := withinCap(l.need, total, percent, held.Add(others)); l.need.Fits(l.kept.Max(free)) {
		return nil
	}
	return fmt.Errorf("%w: framework %q: long tasks need %s more, have %s, others are offered %s, may have %d%% of %s: %s",
		ErrExceeds, f.name, cp.format(l.need), cp.format(held), cp.format(others), percent, of, cp.format(part(total, percent)))
}

// part returns so many per cent of a total, rounded down.
func part(total resources.Vector, percent int) (v resources.Vector) {
	for k, q := range total {
		v[k] = q/100*int64(percent) + q%100*int64(percent)/100
	}
	return v
}

// began notes a long task.
func (cp *caps) began(f *member, id omega.AllocationID, n *node, need resources.Vector) {
	cp.longs[id] = longTask{f, n.id, need}
	n.long, cp.long = n.long.Add(need), cp.long.Add(need)
}

// forgetTask forgets a task, if it was a long one.
func (cp *caps) forgetTask(id omega.AllocationID) {
	l, ok := cp.longs[id]
	if !ok {
		return
	}
	delete(cp.longs, id)
	cp.long, _ = cp.long.Sub(l.need)
	if n := cp.floor.nodeOf(l.machine); n != nil {
		n.long, _ = n.long.Sub(l.need)
	}
}

// remember notes which of the tasks of a framework are long.
func (cp *caps) remember(f *member, ids []omega.AllocationID) {
	if len(ids) == 0 {
		return
	}
	long := make(map[omega.AllocationID]bool, len(ids))
	for _, id := range ids {
		long[id] = true
	}
	for a := range f.sched.Allocations() {
		n := cp.floor.nodeOf(a.Machine)
		if _, known := cp.longs[a.ID]; !known && long[a.ID] && n != nil {
			cp.began(f, a.ID, n, a.Need)
		}
	}
}

// forget forgets all long tasks of a framework.
func (cp *caps) forget(f *member) {
	for id, l := range cp.longs { // what is left does not depend on the order
		if l.of == f {
			cp.forgetTask(id)
		}
	}
}
