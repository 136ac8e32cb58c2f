package offers

import (
	"fmt"
	"slices"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// kept tells whether the room of an offer is claimed; that of an optimistic one
// is not.
func (o *offer) kept() bool { return o.claim != omega.AllocationID{} }

// showAll offers room on a machine to everybody who can use it. Cost:
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

// show makes an optimistic offer, unless f has one that says as much. One that it
// has not read of yet says from then on what there is.
func (l *ledger) show(f *member, n *node, room *resources.Vector) {
	if o := f.here; o != nil {
		switch {
		case !o.seen:
			o.Room = *room
			return
		case resources.Fits(room, &o.Room):
			return
		}
		l.end(o, rescinded)
	}
	l.tellOffer(f, l.open(&pick{to: f, node: n, room: *room}, omega.AllocationID{}))
}

// hideAll ends the optimistic offers of a machine without room that nobody has read
// of. Others do no harm: who accepts them conflicts.
func (l *ledger) hideAll(n *node) {
	for i := 0; i < len(n.offers); {
		if o := n.offers[i]; o.kept() || o.seen {
			i++
		} else {
			l.end(o, rescinded)
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

// overdrawn says whether an accept of optimistic offers would leave frameworks with
// more of a machine than the terms allow: the cell does not know of these. What is
// kept for the framework it may have. On is which machine that is about. Cost: O(1)
// where the terms offer machines as a whole, else O(allocations of the machines).
func (m *Master) overdrawn(a *accepting, launches []Launch) (on *node, err error) {
	if m.cfg.Terms.whole() {
		return nil, nil
	}
	of := make(map[*node]sums)
	offers := a.offers
	for i := range launches {
		one := of[offers[0].node]
		one.claimed, one.need = one.claimed.Add(a.sums[i].claimed), one.need.Add(a.sums[i].need)
		of[offers[0].node] = one
		offers = offers[len(launches[i].Offers):]
	}
	for _, o := range a.offers {
		one := of[o.node]
		st, in := m.cell.State(o.Machine)
		held, there := m.floor.holding(o.node).Sub(one.claimed)
		if !in || !there {
			continue // of which the cell is to tell
		}
		free := st.Free.Add(one.claimed)
		if free = m.floor.beside(o.node, &held, &free).Max(one.claimed); !one.need.Fits(free) {
			return o.node, &omega.ItemError{
				Machine: o.Machine, Name: st.Name, Need: one.need, Free: free, Condition: st.Condition,
				Reason: fmt.Errorf("%w: frameworks may hold %d%% of each machine, %s here", omega.ErrConflict,
					m.cfg.Terms.Percent, m.format(part(o.node.capacity, m.cfg.Terms.Percent))),
			}
		}
	}
	return nil, nil
}

// conflicted says why an accept of optimistic offers was refused: on which of them,
// the first one of a machine if it was about one, what was needed and what there was.
// All of them end, and what there is is offered anew.
func (m *Master) conflicted(a *accepting, f *member, on *node, err error) error {
	of := slices.IndexFunc(a.offers, func(o *offer) bool { return !o.kept() && (on == nil || o.node == on) })
	if of < 0 {
		err = fault.Newf("offers", err, "framework %q: optimistic accept", f.name)
	} else {
		err = &OfferError{f.name, a.offers[of].ID, fault.New("offers", "optimistic accept", err)}
	}
	for _, o := range a.offers {
		if o.kept() || o.state != outstanding {
			continue
		}
		m.ledger.end(o, rescinded)
		m.floor.markDirty(o.node)
	}
	return err
}
