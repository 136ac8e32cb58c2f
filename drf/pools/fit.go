package pools

import "github.com/cellsched/cellsched/resources"

// headroom returns the part of room that a node with a max share may have.
func (c *core) headroom(slot uint32, room resources.Vector) resources.Vector {
	if n := &c.nodes[slot]; n.limited {
		for k, q := range c.settings[slot].max {
			room[k] = min(room[k], max(0, q-n.usage[k]))
		}
	}
	return room
}

// limitless is the room of a node without a limit.
var limitless = resources.Uniform(resources.MaxQuantity)

// refit opens the members of a pool that fit in room, and closes the others. It
// reports whether anything changed.
func (c *core) refit(slot uint32, room *resources.Vector) (changed bool) {
	g := c.nodes[slot].group
	here := room
	if c.nodes[slot].limited {
		limited := c.headroom(slot, *room)
		here = &limited
	}
	// The pool is skipped if the room is as it was. It is skipped too if the
	// largest and smallest amounts, kind by kind, say that all open members still
	// fit and no closed one does.
	if !g.stale && (*here == g.seen || resources.Fits(&g.most, here) && !resources.Fits(&g.least, here)) {
		return false
	}
	g.stale, g.seen = false, *here
	g.most, g.least = resources.Vector{}, unwanted
	for _, s := range g.pools {
		if c.refit(s, here) {
			c.settle(s)
			changed = true
		}
		// Members closed by the limit of their own pool are no reason to look, as
		// long as its usage stays.
		below := c.nodes[s].group
		grow(&g.most, &below.most)
		if limit := c.headroom(s, limitless); resources.Fits(&below.least, &limit) {
			shrink(&g.least, &below.least)
		}
	}
	changes := 0
	first, second := g.contests[ahead], g.contests[low]
	for place := range g.demands {
		d := &g.demands[place]
		if d[0] == unwanted[0] {
			continue
		}
		able, fits := true, resources.Fits(d, here)
		if c.limits > 0 {
			limit := c.headroom(g.members[place], limitless)
			able = resources.Fits(d, &limit)
			fits = fits && able
		}
		if fits != (second.has(place) || first.has(place)) {
			changes++
			g.lazy = changes > len(g.demands)/16
			c.setOpen(slot, g.members[place], fits)
			first, second = g.contests[ahead], g.contests[low]
		}
		if fits {
			grow(&g.most, d)
		} else if able {
			shrink(&g.least, d)
		}
	}
	if g.lazy {
		g.lazy = false
		c.replay(g)
	}
	return changed || changes > 0
}

// grow makes v the larger of both, kind by kind.
func grow(v, w *resources.Vector) {
	for k := range v {
		v[k] = max(v[k], w[k])
	}
}

// shrink makes v the smaller of both, kind by kind.
func shrink(v, w *resources.Vector) {
	for k := range v {
		v[k] = min(v[k], w[k])
	}
}

// setOpen opens or closes a job or a band of a pool. The caller settles the pool.
func (c *core) setOpen(pool, slot uint32, open bool) {
	g, n := c.nodes[pool].group, &c.nodes[slot]
	n.open = open
	count(g, n)
	if c.directed(pool) {
		if open {
			g.sum.add(c.direct(n, &c.scratch), c.kinds)
		} else {
			g.sum.sub(c.direct(n, &c.scratch), c.kinds)
		}
	}
	if open {
		c.present(g, slot)
	} else {
		c.absent(g, slot)
	}
}

// markStale notes that the set of fitting members below a pool may have changed.
func (c *core) markStale(pool uint32) {
	for pool != none && !c.nodes[pool].group.stale {
		c.nodes[pool].group.stale = true
		pool = c.nodes[pool].parent
	}
}

// limited marks the pools in which a limit may begin or cease to keep out a member,
// from a node up. It is called after a charge or a credit.
func (c *core) limited(slot uint32) {
	if c.limits == 0 {
		return
	}
	if n := &c.nodes[slot]; n.sort == isJob {
		if n.limited && n.in != none {
			room := c.headroom(slot, limitless)
			if resources.Fits(c.demand(slot), &room) != n.open {
				c.markStale(n.parent)
			}
		}
		slot = n.parent
	}
	for s := slot; s != none; s = c.nodes[s].parent {
		if n := &c.nodes[s]; n.limited && !n.group.stale {
			room := c.headroom(s, limitless)
			if !resources.Fits(&n.group.most, &room) || resources.Fits(&n.group.least, &room) {
				c.markStale(s)
			}
		}
	}
}

// admit opens a new member of a pool, a job, if it fits in the free room of the
// last Pick. It makes the demand known to all pools above either way. The caller
// settles the pool.
func (c *core) admit(pool, slot uint32) {
	d := c.demand(slot)
	room := c.headroom(slot, c.free)
	for s := pool; s != none; s = c.nodes[s].parent {
		room = c.headroom(s, room)
	}
	fits := resources.Fits(d, &room)
	for s := pool; s != none; s = c.nodes[s].parent {
		g := c.nodes[s].group
		g.seen = unwanted // no room is like this
		if fits {
			grow(&g.most, d)
		} else {
			shrink(&g.least, d)
		}
	}
	if fits {
		c.setOpen(pool, slot, true)
	}
}
