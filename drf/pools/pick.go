package pools

import "github.com/cellsched/cellsched/resources"

// Pick returns the next job. It walks from the root down to a job, in each pool to
// the first child in the pool's order in which a task fits. A task has to fit in
// free and below every max share. It changes nothing: [Tree.Charge] does. Ok is
// false if no task fits. In a free that is negative in any kind, nothing fits.
//
// Cost: O(d) while free is as it was at the last Pick, or has room for all demands
// that had room then. Otherwise Pick looks at all distinct demands of the pools
// where some may begin or cease to fit. Each that does adds O(log n) or less. That
// is little for a few sizes of task, with any number of jobs. It is much in a full
// cell with as many sizes as jobs: see bench/README.md. After a kind is used up, or
// has come back, all pools are settled again. Pick allocates only if more members
// take part than ever before.
func (t *Tree[K]) Pick(free resources.Vector) (job Node, ok bool) {
	if t.none() {
		return job, false
	}
	return t.core.handle(t.core.pick(&free))
}

// Take picks as [Tree.Pick] does, and charges the job its demand, which [Tree.Next]
// returns. It is cheaper than the two calls. It returns false if the charge would
// take the whole tree beyond 2^62 of a kind. Cost: that of both.
func (t *Tree[K]) Take(free resources.Vector) (job Node, ok bool) {
	if t.none() {
		return job, false
	}
	c := &t.core
	s := c.pick(&free)
	if s == none {
		return Node{}, false
	}
	v := c.demand(s)
	if exceeds(&c.nodes[0].usage, v) {
		return Node{}, false
	}
	c.charge(s, v, false)
	return c.handle(s)
}

// PickWhere picks in a cell of machines, where a task has to fit on one of them.
//
// Most has, kind by kind, the largest free amount of any machine. Fits reports
// whether a demand that fits in most fits on some machine; nil returns true for
// all. It must not call the tree. It is called for the demands that come first,
// until it returns true: once for each demand in each pool, and for each job with a
// max share. A demand that it refuses counts as one that does not fit, until the
// next pick of any method.
//
// Cost: that of [Tree.Pick], plus O(d log n) and a call of fits for each refused
// demand.
func (t *Tree[K]) PickWhere(most resources.Vector, fits func(demand resources.Vector) bool) (job Node, ok bool) {
	if t.none() {
		return job, false
	}
	c := &t.core
	for s := c.pick(&most); s != none; s = c.first() {
		if fits == nil || fits(*c.demand(s)) {
			return c.handle(s)
		}
		c.ruleOut(s)
	}
	return Node{}, false
}

// pick returns the next job, or none.
func (c *core) pick(free *resources.Vector) uint32 {
	if *free != c.free {
		c.free = *free
		c.exhaust()
	}
	if c.refit(0, &c.free) {
		c.settle(0)
	}
	return c.first()
}

// first returns the first open job, or none.
func (c *core) first() uint32 {
	slot := uint32(0)
	for {
		g := c.nodes[slot].group
		s := g.leader(ahead)
		if s == none {
			s = g.leader(low)
		}
		if s == none || c.nodes[s].sort == isJob {
			return s
		}
		slot = s
	}
}

// exhaust notes the kinds that are used up.
func (c *core) exhaust() {
	if usedUp := c.exhausted(); usedUp != c.usedUp {
		c.usedUp = usedUp
		c.resettle(0)
	}
}

// exhausted returns the kinds without any free amount.
func (c *core) exhausted() (set kinds) {
	for k := range c.kinds {
		if c.free[k] <= 0 {
			set |= 1 << k
		}
	}
	return set
}

// ruleOut closes a job that is open, with all that have the same demand in its
// pool, until the next pick.
func (c *core) ruleOut(slot uint32) {
	n := &c.nodes[slot]
	if n.in != n.parent {
		slot = n.in
	}
	c.setOpen(n.parent, slot, false)
	c.settleUp(n.parent)
	c.markStale(n.parent)
}

// handle returns the handle of a slot, or the zero Node for none.
func (c *core) handle(slot uint32) (h Node, ok bool) {
	if slot == none {
		return Node{}, false
	}
	return Node{slot, c.nodes[slot].gen}, true
}
