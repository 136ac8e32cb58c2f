package pools

import (
	"cmp"
	"math"

	"github.com/cellsched/cellsched/resources"
)

// First returns the job below a pool, or the job itself, that would be next if
// there were room for any task: to know for whom to make some, see [Preempt].
// Jobs that are parked, or would be beyond a max share, their own or that of a
// pool they are in, are left out; ok is false if all are.
//
// It is the definition of hierarchical DRF, computed from scratch, where nobody
// else is blocked and nothing is used up: what [Tree.Pick] knows is of what is
// free. Cost: O(n) for the n nodes below.
func (t *Tree[K]) First(h Node) (job Node, ok bool) {
	c := &t.core
	n := t.node(h)
	if n == nil {
		return Node{}, false
	}
	room := limitless
	for s := n.parent; s != none; s = c.nodes[s].parent {
		room = c.headroom(s, room)
	}
	return c.handle(c.suppose(h.slot, room).first)
}

// supposed is what a node would be like if there were room.
type supposed struct {
	slot  uint32
	first uint32 // the job in it that would be next, or none: then it is blocked
	eaten [resources.MaxKinds]float64
	share float64
}

// suppose tells what a node would be like within room, which is under the max
// shares of all above it.
func (c *core) suppose(slot uint32, room resources.Vector) supposed {
	n := &c.nodes[slot]
	me := supposed{slot: slot, first: none, share: n.share}
	room = c.headroom(slot, room)
	for k := range c.kinds {
		me.eaten[k] = float64(n.usage[k]) * c.inverse[k]
	}
	if n.sort == isJob {
		if n.in != none && resources.Fits(c.demand(slot), &room) {
			me.first = slot
		}
		return me
	}
	g := n.group
	var sum, blocked [resources.MaxKinds]float64
	least := math.Inf(1)
	best := supposed{slot: none}
	for s := c.settings[slot].first; s != none; s = c.settings[s].next {
		child := c.suppose(s, room)
		if child.first == none {
			for k := range c.kinds {
				blocked[k] += child.eaten[k]
			}
			continue
		}
		if child.share > 0 {
			least = min(least, child.share)
			for k := range c.kinds {
				sum[k] += child.eaten[k] / child.share
			}
		}
		if best.slot == none || c.goesFirst(g, &child, &best) {
			best = child
			me.first = child.first
		}
	}
	if g.order == nil {
		me.eaten = blocked
		if !math.IsInf(least, 1) {
			for k := range c.kinds {
				me.eaten[k] += least * sum[k]
			}
		}
	}
	me.share = 0
	for k := range c.kinds {
		me.share = max(me.share, me.eaten[k])
	}
	me.share = round(me.share / n.weight)
	return me
}

// goesFirst reports whether of two children of a pool a is before b.
func (c *core) goesFirst(g *group, a, b *supposed) bool {
	x, y := c.keysAt(g, a.slot, a.share), c.keysAt(g, b.slot, b.share)
	d := cmp.Or(cmp.Compare(x[ahead], y[ahead]), cmp.Compare(x[low], y[low]))
	if d == 0 && g.order != nil {
		d = g.order(Child{c, a.slot}, Child{c, b.slot})
	}
	return cmp.Or(d, cmp.Compare(c.nodes[a.slot].seq, c.nodes[b.slot].seq)) < 0
}
