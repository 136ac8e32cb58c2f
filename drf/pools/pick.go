package pools

import "github.com/cellsched/cellsched/resources"

// Pick returns the job that is next: from the root, down to a job, the child
// that comes first in its pool's order, among those in which the next task of
// some job fits in what is free and below every max share. It changes nothing:
// [Tree.Charge] does. ok is false where no task fits.
//
// In a free that is negative in any kind, nothing fits.
//
// Cost: O(d) while free is as it was at the last Pick, or has room for all that
// had room then. Where it has changed, a look at all the demands that differ in
// the pools where some may begin or cease to fit, and O(log n) or less for each
// that does: little for a few sizes of task, however many the jobs; much in a
// full cell with as many sizes as jobs, see bench/README.md. Where a kind was
// used up, or has come back since, all pools are settled anew. It allocates only
// where more take part than ever before.
func (t *Tree[K]) Pick(free resources.Vector) (job Node, ok bool) {
	if t.none() {
		return job, false
	}
	return t.core.handle(t.core.pick(&free))
}

// Take picks as [Tree.Pick] does, and charges the job what it demands, which
// [Tree.Next] tells: the two calls in one, and cheaper. Nobody is taken whose charge would take the whole
// tree beyond 2^62 of a kind. Cost: that of both.
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
	c.hold(s, v, false)
	return c.handle(s)
}

// PickWhere is Pick for a cell of machines, where a task has to fit on one of
// them. Most has, kind by kind, the most that any machine has free; fits says
// whether a demand that fits in that fits on some machine. It is asked about
// the demands that come first, once for each of them in each pool, and for each
// job with a max share, until it says yes, and must not call the tree; a nil fits says yes to all. A demand
// that it says no to counts as one that does not fit, until the next pick of
// whatever sort.
//
// Cost: that of [Tree.Pick], plus O(d log n) and a call of fits for each demand
// that it says no to.
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

// pick returns the job that is next, or none.
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

// first returns the job that comes first of those that are open, or none.
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

// exhaust notes which kinds are used up.
func (c *core) exhaust() {
	if usedUp := c.exhausted(); usedUp != c.usedUp {
		c.usedUp = usedUp
		c.resettle(0)
	}
}

// exhausted returns the kinds of which nothing is free.
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
	c.suspect(n.parent)
}

// handle returns the handle of a slot, or nobody's for none.
func (c *core) handle(slot uint32) (h Node, ok bool) {
	if slot == none {
		return Node{}, false
	}
	return Node{slot, c.nodes[slot].gen}, true
}
