package pools

import "github.com/cellsched/cellsched/resources"

// SetWeight changes the weight of a node among its siblings, at once and for all of
// its usage. The weight of the root plays no part. Cost: O(d log n). Errors:
// [ErrNode], [drf.ErrWeight].
func (t *Tree[K]) SetWeight(h Node, weight float64) error {
	if t.none() {
		return self.Absent("tree")
	}
	n := t.node(h)
	if n == nil {
		return badNode("set weight of", "a node of the tree")
	}
	if err := self.Weight("set weight", weight); err != nil {
		return self.Weight("set weight of "+t.name(h.slot), weight)
	}
	t.core.weigh(h.slot, weight)
	return nil
}

// SetPriority changes the priority of a node. Cost: O(d log n).
// Errors: [ErrNode].
func (t *Tree[K]) SetPriority(h Node, priority int64) error {
	if t.none() {
		return self.Absent("tree")
	}
	if t.node(h) == nil {
		return badNode("set priority of", "a node of the tree")
	}
	t.core.settings[h.slot].priority = priority
	t.core.changed(h.slot)
	return nil
}

// SetLimits changes the min and the max share of a node, in base units; a max share
// of nil is no limit. Usage stays, and may exceed the max share. Cost: O(d log n),
// plus a look at the siblings. Errors: as [Tree.AddPool].
func (t *Tree[K]) SetLimits(h Node, low resources.Vector, high *resources.Vector) error {
	if t.none() {
		return self.Absent("tree")
	}
	n := t.node(h)
	if n == nil {
		return badNode("set limits of", "a node of the tree")
	}
	op := func() string { return "set limits of " + t.name(h.slot) }
	if err := checkLimits(low, high, op); err != nil {
		return err
	}
	c := &t.core
	if n.parent != none {
		if err := t.checkPromises(op, n.parent, h.slot, &low); err != nil {
			return err
		}
	}
	demand := *c.demand(h.slot)
	if n.sort == isJob {
		c.park(h.slot) // with a max share it is in no band
	}
	c.limit(h.slot, low, high)
	if n.sort == isPool {
		c.markStale(h.slot)
	} else if demand != unwanted {
		c.want(h.slot, &demand)
	}
	c.changed(h.slot)
	return nil
}

// limit sets the limits of a node and copies high.
func (c *core) limit(slot uint32, low resources.Vector, high *resources.Vector) {
	n, s := &c.nodes[slot], &c.settings[slot]
	if n.limited {
		c.limits--
	}
	n.promised, n.limited = low != (resources.Vector{}), high != nil
	s.min, s.max = low, resources.Vector{}
	if high != nil {
		s.max = *high
		c.limits++
	}
}

// checkPromises returns an error if the min shares of a pool's children, without
// one of them and with one more, exceed 2^62. Cost: O(n) if there is one more.
func (t *Tree[K]) checkPromises(op func() string, pool, without uint32, one *resources.Vector) error {
	c := &t.core
	if *one == (resources.Vector{}) {
		return nil
	}
	sum := *one
	for s := c.settings[pool].first; s != none; s = c.settings[s].next {
		if low := &c.settings[s].min; s != without && c.nodes[s].promised {
			if exceeds(&sum, low) {
				return self.Refuse(resources.ErrQuantity, "%s: min shares in %s, %v plus %v, want at most 2^62 in all", op(), t.name(pool), *low, sum)
			}
			shift(&sum, low, false)
		}
	}
	return nil
}
