package offers

import (
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// hide adds a filter that ends at a time, and of which a part is back-off. It replaces
// filters that hide no more, for no longer, and are back-off for no longer.
func (fl *floor) hide(f *member, node uint32, room *resources.Vector, until, backoffUntil time.Time) *filter {
	for at, one := f.filters[node], (*filter)(nil); at != nil; at = one {
		one = at.next
		if resources.Fits(&at.room, room) && !at.timer.At().After(until) && !at.backoffUntil.After(backoffUntil) {
			fl.unhide(at)
		}
	}
	one := &filter{of: f, node: node, room: *room, next: f.filters[node], backoffUntil: backoffUntil}
	if f.filters == nil {
		f.filters = make(map[uint32]*filter)
	}
	f.filters[node] = one
	fl.timers.Start(&one.timer, until, one)
	return one
}

// unhide takes a filter away.
func (fl *floor) unhide(one *filter) {
	fl.timers.Stop(&one.timer)
	f := one.of
	if head := f.filters[one.node]; head != one {
		for head.next != one {
			head = head.next
		}
		head.next = one.next
	} else if one.next != nil {
		f.filters[one.node] = one.next
	} else {
		delete(f.filters, one.node)
	}
}

// expireFilter ends a filter that is due.
func (fl *floor) expireFilter(one *filter) {
	fl.unhide(one)
	fl.markDirty(fl.nodes[one.node])
}

// hidden reports whether a filter hides the room on a machine from f.
func (f *member) hidden(node uint32, room *resources.Vector) bool {
	if len(f.filters) == 0 {
		return false
	}
	for one := f.filters[node]; one != nil; one = one.next {
		if resources.Fits(room, &one.room) {
			return true
		}
	}
	return false
}

// clearFilters takes away the filters of a framework on one machine.
func (fl *floor) clearFilters(f *member, node uint32) {
	for one := f.filters[node]; one != nil; one = f.filters[node] {
		fl.unhide(one)
	}
}

// backedOff reports whether a back-off hides room on a machine from f, whatever it asks
// for. Such a framework has declined that room, or not answered, again and again.
func (f *member) backedOff(n *node, room *resources.Vector, now time.Time) bool {
	for one := f.filters[n.number]; one != nil; one = one.next {
		if one.backoffUntil.After(now) && resources.Fits(room, &one.room) {
			return true
		}
	}
	return false
}

// eligible reports whether room on a machine may be offered to f, which stands in
// line.
func (f *member) eligible(n *node, room *resources.Vector) bool {
	return f.uses.Has(locality.Node(n.number)) &&
		resources.Fits(&f.reg.Minimum, room) &&
		!f.hidden(n.number, room)
}

// refuse hides from f the room that it refused on a machine, for d or for its back-off if
// that is longer. It notes that other frameworks go first. It returns the filter, or nil
// if nothing is hidden.
func (fl *floor) refuse(f *member, n *node, room *resources.Vector, d time.Duration) *filter {
	n.refused, n.last = true, f
	back := fl.backoff(f)
	if d > 0 {
		d = min(max(d, fl.cfg.Interval.or(DefaultInterval)), maxRefuse)
	}
	if d = max(d, back); d > 0 && !n.gone {
		return fl.hide(f, n.number, room, fl.now.Add(d), fl.now.Add(back))
	}
	return nil
}
