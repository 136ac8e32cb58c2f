package pools

import (
	"math/bits"

	"github.com/cellsched/cellsched/resources"
)

// charge adds v to the usage of a job, or subtracts it, and brings all above up to
// date.
func (c *core) charge(slot uint32, v *resources.Vector, off bool) {
	c.accrue(slot)
	n := &c.nodes[slot]
	if n.in == none || !c.directed(n.parent) {
		shift(&n.usage, v, off)
		c.measure(n)
	} else {
		c.redirect(n, v, off)
	}
	if n.in != none && n.in != n.parent {
		shift(&c.nodes[n.in].usage, v, off)
	}
	c.show(slot)
	c.carry(n.parent, v, off, c.opened(n))
	c.limited(slot)
	c.settleUp(n.parent)
}

// measure computes the share of a job and returns its portion, which is the
// share without weight.
func (c *core) measure(n *node) (portion float64) {
	portion = c.portion(&n.usage)
	n.share, n.unit = portion/n.weight, 0
	if n.in != none && n.in != n.parent {
		c.classify(n)
	}
	return portion
}

// redirect adds v to the usage of a job, or subtracts it. It adds the change of the
// job's direction to all sums that it is in.
func (c *core) redirect(n *node, v *resources.Vector, off bool) {
	var was, is direction
	exact := c.exact && !c.along(&n.usage, v, off)
	c.toward(n, c.portion(&n.usage), &was, exact)
	shift(&n.usage, v, off)
	c.toward(n, c.measure(n), &is, exact)
	is.sub(&was, c.kinds)
	c.steer(n, &is)
}

// along reports whether the usage of a job stays a multiple of held when v is added
// or subtracted. Its direction then stays exactly the same.
func (c *core) along(held, v *resources.Vector, off bool) bool {
	lead := -1
	for k := range c.kinds {
		if held[k] == 0 {
			if v[k] != 0 {
				return false
			}
			continue
		}
		if lead < 0 {
			lead = k
			if off && v[k] == held[k] {
				return false // it may hold nothing afterwards
			}
			continue
		}
		ahi, alo := bits.Mul64(uint64(held[k]), uint64(v[lead]))
		bhi, blo := bits.Mul64(uint64(held[lead]), uint64(v[k]))
		if ahi != bhi || alo != blo {
			return false
		}
	}
	return lead >= 0
}

// steer adds a change of the direction of a job to all sums that it is in.
func (c *core) steer(n *node, change *direction) {
	if n.in != n.parent {
		c.nodes[n.in].group.sum.add(change, c.kinds)
	}
	if c.opened(n) {
		c.nodes[n.parent].group.sum.add(change, c.kinds)
	}
}

// opened reports whether a job takes part: it or its band is open.
func (c *core) opened(n *node) bool {
	if n.in != none && n.in != n.parent {
		return c.nodes[n.in].open
	}
	return n.open
}

// show enters a job where it takes part.
func (c *core) show(slot uint32) {
	n := &c.nodes[slot]
	if n.in == none {
		return
	}
	if n.in != n.parent {
		c.present(c.nodes[n.in].group, slot)
		slot = n.in
	}
	if c.nodes[slot].open {
		c.present(c.nodes[n.parent].group, slot)
	}
}

// carry adds v to the usage of a pool and all above, or subtracts it. Open reports
// whether the usage is of an open member.
func (c *core) carry(pool uint32, v *resources.Vector, off, open bool) {
	for s := pool; s != none; {
		p := &c.nodes[s]
		shift(&p.usage, v, off)
		if !open {
			shift(&p.group.closed, v, off)
		}
		open, s = p.open, p.parent
	}
}

// weigh sets the weight of a node.
func (c *core) weigh(slot uint32, weight float64) {
	n := &c.nodes[slot]
	if n.sort == isJob && n.in != none && c.directed(n.parent) {
		var was, is direction
		portion := c.portion(&n.usage)
		c.toward(n, portion, &was, c.exact)
		n.weight, n.unit = weight, 0
		c.toward(n, portion, &is, c.exact)
		is.sub(&was, c.kinds)
		c.steer(n, &is)
	}
	n.weight = weight
	c.changed(slot)
}

// changed brings the place of a node in its parent up to date.
func (c *core) changed(slot uint32) {
	n := &c.nodes[slot]
	if n.sort == isPool {
		c.settleUp(slot)
		return
	}
	c.measure(n)
	c.show(slot)
	c.settleUp(n.parent)
}

// withdraw removes a job or a pool, with all of its usage, from its parent, and
// returns its demand.
func (c *core) withdraw(slot uint32) (demand resources.Vector) {
	n := &c.nodes[slot]
	pool := n.parent
	demand = *c.demand(slot)
	if n.sort == isJob {
		c.park(slot)
	} else {
		pg := c.nodes[pool].group
		if n.open {
			n.open = false
			if c.directed(pool) {
				pg.sum.near.sub(&n.group.own, c.kinds)
			}
			count(pg, n)
			c.absent(pg, slot)
		}
		c.quit(slot)
		n.group.own = heading{}
	}
	c.accrue(pool)
	c.carry(pool, &n.usage, true, false)
	c.limited(pool)
	c.settleUp(pool)
	c.unlink(slot)
	return demand
}

// attach puts a job or a pool, with all of its usage, behind the children of its
// parent.
func (c *core) attach(slot uint32, demand *resources.Vector) {
	n := &c.nodes[slot]
	pool := n.parent
	c.link(slot)
	c.accrue(pool)
	c.carry(pool, &n.usage, false, false)
	if n.sort == isPool {
		c.join(pool, slot, &unwanted)
		n.group.stale = false
		c.markStale(slot)
		c.resettle(slot)
	} else if *demand != unwanted {
		c.want(slot, demand)
	}
	c.limited(pool)
	c.settleUp(pool)
}

// remeasure measures all nodes again, after the totals have changed.
func (c *core) remeasure(total *resources.Vector) {
	for s := range c.nodes {
		if n := &c.nodes[s]; c.record.on && (n.sort == isPool || n.sort == isJob) {
			c.read(uint32(s))
		}
	}
	c.total, c.kinds = *total, 0
	for k, q := range total {
		c.inverse[k], c.inverted[k] = 0, 0
		if q > 0 {
			c.inverse[k], c.inverted[k], c.kinds = 1/float64(q), residue(q).inverse(), k+1
		}
	}
	for s := range c.nodes {
		if g := c.nodes[s].group; g != nil {
			g.sum, g.own, g.lazy = direction{}, heading{}, true
			if g.band {
				g.task = c.portion(c.demand(uint32(s)))
			}
		}
	}
	for s := range c.nodes {
		n := &c.nodes[s]
		if n.sort != isJob {
			continue
		}
		portion := c.measure(n)
		if n.in == none {
			continue
		}
		if c.directed(n.parent) {
			var d direction
			c.toward(n, portion, &d, c.exact)
			c.steer(n, &d)
		}
		c.show(uint32(s))
	}
	for s := range c.nodes { // bands stand where their best jobs do
		if n := &c.nodes[s]; n.sort == isBand {
			n.group.lazy = false
			c.replay(n.group)
			if n.open {
				c.present(c.nodes[n.parent].group, uint32(s))
			}
		}
	}
	c.usedUp = c.exhausted()
	c.resettle(0)
}
