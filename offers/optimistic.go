package offers

import (
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// showAll offers room on a machine to every framework that can use it. Cost:
// O(frameworks).
func (l *ledger) showAll(n *node, room *resources.Vector) {
	for _, o := range n.offers {
		if !o.kept() {
			o.to.here = o
		}
	}
	for f := range l.queue.inTurn() {
		if f.eligible(n, room) {
			l.show(f, n, room)
		}
	}
	for _, f := range n.waiting() {
		if f.queued && f.eligible(n, room) {
			l.show(f, n, room)
		}
	}
	for _, f := range l.registry.order {
		f.here = nil
	}
}

// show makes an optimistic offer, unless f has one of as much room. An unread one gets
// the present room instead.
func (l *ledger) show(f *member, n *node, room *resources.Vector) {
	if o := f.here; o != nil {
		switch {
		case !o.seen:
			o.Room = *room
			return
		case resources.Fits(room, &o.Room):
			return
		}
		l.end(o, fateRescinded)
	}
	l.tellOffer(f, l.open(&pick{to: f, node: n, room: *room}, omega.AllocationID{}))
}

// hideAll ends the unread optimistic offers of a machine without room. Those that were
// read do no harm: an accept of them conflicts.
func (l *ledger) hideAll(n *node) {
	for i := 0; i < len(n.offers); {
		if o := n.offers[i]; o.kept() || o.seen {
			i++
		} else {
			l.end(o, fateRescinded)
		}
	}
}

// showOne is showAll for one framework. Cost: O(offers of the machine).
func (l *ledger) showOne(f *member, n *node, room *resources.Vector) {
	for _, o := range n.offers {
		if o.to == f && !o.kept() {
			f.here = o
		}
	}
	l.show(f, n, room)
	f.here = nil
}
