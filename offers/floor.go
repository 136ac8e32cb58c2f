package offers

import (
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// floor holds the machines. It knows their free room, the machines to look at, and those
// with room that no framework wanted. It also knows the room that is hidden from each
// framework.
type floor struct {
	*client
	registry *registry
	queue    *queue

	nodes []*node  // by number
	dirty []uint32 // nodes to look at
	idle  idle
	words omega.Mask // of constraints, kept for its memory
}

// nodeOf returns the node of a machine, or nil if it is not in the cell.
func (fl *floor) nodeOf(id omega.MachineID) *node {
	if i := int(id.Node()); i < len(fl.nodes) && fl.nodes[i].id == id && !fl.nodes[i].gone {
		return fl.nodes[i]
	}
	return nil
}

// markDirty notes that a node is to be looked at.
func (fl *floor) markDirty(n *node) {
	n.known = false
	if !n.dirty {
		n.dirty = true
		fl.dirty = append(fl.dirty, n.number)
	}
}

// freed notes that something on a machine has ended, so its free room is new to every
// framework.
func (fl *floor) freed(n *node) {
	n.refused, n.last = false, nil
	fl.markDirty(n)
}

// markUnseen has the idle machines looked at that one of several frameworks has not seen
// yet, so that the frameworks get them by their order.
func (fl *floor) markUnseen() {
	seen := fl.idle.last
	for _, f := range fl.queue.leftovers {
		seen = min(seen, f.seen)
		f.wantsLeftovers = false
	}
	fl.queue.leftovers = fl.queue.leftovers[:0]
	for _, e := range fl.idle.entries {
		if e.seq > seen && e.node.idle == e.seq {
			fl.markDirty(e.node)
		}
	}
}

// room returns the room that may be offered on a machine, if it is worth it.
func (fl *floor) room(n *node) (room resources.Vector, ok bool) {
	room, ok = fl.space(n)
	if ok && n.partReserved() && !fl.cfg.Terms.whole() {
		room, ok = room.Sub(n.kept.Each) // the cell keeps its room, and not its part of the terms
	}
	if !ok || room == (resources.Vector{}) || !resources.Fits(&fl.cfg.Smallest, &room) {
		return room, false
	}
	return room, true
}

// space returns the room of a machine that the master may take.
func (fl *floor) space(n *node) (room resources.Vector, ok bool) {
	if n.gone {
		return room, false
	}
	if !n.known {
		st, in := fl.cell.State(n.id)
		if !in || st.Condition != omega.Ready {
			return room, false
		}
		n.free = st.Free
	}
	n.known = false // others may change it at any time
	return fl.within(n, &n.free), true
}
