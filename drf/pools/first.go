package pools

import "github.com/cellsched/cellsched/resources"

// First returns the job below a pool, or the job itself, that would be next if
// there were room for any task. It names the job to make room for, see [Preempt].
// Parked jobs are left out, and jobs with a next task beyond a max share. Ok is
// false if no job remains.
//
// First computes hierarchical DRF from scratch, with no other job blocked and no
// kind used up. It is the choice of [Tree.Pick] with room for every task. Cost:
// O(n) for the n nodes below, and as much again for each level with equal shares.
func (t *Tree[K]) First(h Node) (job Node, ok bool) {
	if t.none() {
		return job, false
	}
	c := &t.core
	n := t.node(h)
	if n == nil {
		return Node{}, false
	}
	room := limitless
	for s := n.parent; s != none; s = c.nodes[s].parent {
		room = c.headroom(s, room)
	}
	return c.handle(c.suppose(h.slot, &room, false).first)
}

// supposed is the state of a node in a cell with room for every task.
type supposed struct {
	slot     uint32
	first    uint32 // the job in it that would be next; none if it is blocked
	consumed [resources.MaxKinds]float64
	share    float64
	err      float64 // bounds the relative error of share

	exact    bool                        // residues and unit are computed
	residues [resources.MaxKinds]residue // of consumed
	unit     residue                     // the inverse of the share, or 0
}

// suppose computes the state of a node within room, which is below the max shares
// of all pools that the node is in. Residues are computed if exact.
func (c *core) suppose(slot uint32, room *resources.Vector, exact bool) supposed {
	n := &c.nodes[slot]
	me := supposed{slot: slot, first: none, share: n.share, err: jobError, exact: exact}
	here := c.headroom(slot, *room)
	for k := range c.kinds {
		me.consumed[k] = float64(n.usage[k]) * c.inverse[k]
		if exact {
			me.residues[k] = residue(n.usage[k]).times(c.inverted[k])
		}
	}
	if n.sort == isJob {
		if n.in != none && resources.Fits(c.demand(slot), &here) {
			me.first = slot
		}
		if exact && n.share > 0 {
			me.unit = c.jobUnit(n)
		}
		return me
	}
	known := c.combine(&me, &here)
	me.share = 0
	for k := range c.kinds {
		me.share = max(me.share, me.consumed[k])
	}
	if exact && me.share > 0 && known {
		lead := c.leading(slot, room, &me.consumed, me.err, &me.residues)
		me.unit = weightResidue(n.weight).times(me.residues[lead].inverse())
	}
	me.share /= n.weight
	return me
}

// combine computes the state of a pool from its children, with room below its max
// share. It reports whether all residues have inverses, if they are computed.
func (c *core) combine(me *supposed, room *resources.Vector) (known bool) {
	g := c.nodes[me.slot].group
	var sum, blocked [resources.MaxKinds]float64
	var residues, rest [resources.MaxKinds]residue
	best, least := supposed{slot: none}, supposed{slot: none}
	worst, members := jobError, 0
	known = true
	for s := c.settings[me.slot].first; s != none; s = c.settings[s].next {
		child := c.suppose(s, room, me.exact)
		members++
		worst = max(worst, child.err)
		if child.first == none {
			for k := range c.kinds {
				blocked[k] += child.consumed[k]
				rest[k] = rest[k].plus(child.residues[k])
			}
			continue
		}
		if child.share > 0 {
			known = known && child.unit != 0
			for k := range c.kinds {
				sum[k] += child.consumed[k] / child.share
				residues[k] = residues[k].plus(child.residues[k].times(child.unit))
			}
			if me.exact && least.slot != none && c.compareSupposed(&child, &least, room) < 0 ||
				!me.exact && child.share < least.share || least.slot == none {
				least = child
			}
		}
		if best.slot == none || c.supposedFirst(g, &child, &best, room) {
			best = child
			me.first = child.first
		}
	}
	if g.order != nil {
		return true // it counts as the plain sum
	}
	me.err = 3*worst + float64(members+16)*0x1p-52
	me.consumed, me.residues = blocked, rest
	if least.slot == none {
		return true
	}
	scale := least.unit.inverse()
	for k := range c.kinds {
		me.consumed[k] += least.share * sum[k]
		me.residues[k] = me.residues[k].plus(scale.times(residues[k]))
	}
	return known
}

// supposedFirst reports whether a is before b, two children of a pool.
func (c *core) supposedFirst(g *group, a, b *supposed, room *resources.Vector) bool {
	which := c.contestOf(g, a.slot, a.share)
	if other := c.contestOf(g, b.slot, b.share); which != other {
		return which < other
	}
	d := 0
	if which == ahead {
		d = c.compareNeeds(a.slot, b.slot)
	} else {
		d = c.compareSupposed(a, b, room)
	}
	return c.tieBreak(g, d, a.slot, b.slot) < 0
}

// compareSupposed is [core.compareShares] for supposed states within room.
func (c *core) compareSupposed(a, b *supposed, room *resources.Vector) int {
	if sign, ok := apart(a.share, a.err, b.share, b.err); ok {
		return sign
	}
	if c.nodes[a.slot].sort == isJob && c.nodes[b.slot].sort == isJob {
		p, _ := c.ratioOf(a.slot)
		q, _ := c.ratioOf(b.slot)
		return p.compare(q)
	}
	for _, s := range []*supposed{a, b} {
		if !s.exact {
			*s = c.suppose(s.slot, room, true)
		}
	}
	if a.unit == b.unit && a.unit != 0 {
		return 0
	}
	return c.tellApart(a.slot, b.slot, room)
}
