package pools

import (
	"cmp"
	"math"

	"github.com/cellsched/cellsched/resources"
)

// round keeps 40 binary digits after the first.
func round(share float64) float64 {
	return math.Float64frombits((math.Float64bits(share) + roundedOff/2 + 1) &^ roundedOff)
}

// roundedOff are the bits of a float64 that round clears.
const roundedOff = 1<<12 - 1

// portion returns the largest fraction of a total in v, without weight.
func (c *core) portion(v *resources.Vector) (largest float64) {
	for k := range c.kinds {
		largest = max(largest, float64(v[k])*c.inverse[k])
	}
	return largest
}

// consume computes a pool's consumption as its parent counts it: its share, and its
// direction.
//
// Definition: the consumption of a pool is the sum of its members'. Members that
// are not blocked are scaled down to the smallest weighted share M among them.
// Hence it is M*S + B:
//
//   - A member scaled to the share M holds M times its direction.
//   - S is the sum of the directions of members that are not blocked.
//   - B is the usage of the blocked ones.
//
// So a charge changes one direction in S and perhaps M, and no walk over all jobs
// is needed. Members without usage have no direction and are left out of M. With
// them M would be 0: a pool would count as holding nothing as long as any of its
// jobs does. One pool of many jobs would then take the cell before others got a
// second task.
func (c *core) consume(slot uint32) {
	n := &c.nodes[slot]
	g := n.group
	g.exactly.known = false
	var consumed [resources.MaxKinds]float64
	largest, err := c.consumption(slot, &consumed)
	n.share, g.err = largest/n.weight, err
	if err >= unbounded { // the share is not 0, and no more is known
		n.share = max(n.share, math.SmallestNonzeroFloat64)
	}
	if !c.directed(n.parent) {
		return
	}
	if largest == 0 {
		g.own = heading{}
		return
	}
	f := n.weight / largest
	for k := range c.kinds {
		g.own[k] = toFixed(min(consumed[k]*f, n.weight))
	}
}

// consumption computes the consumption of a pool by kind. It returns the largest
// and a bound on the relative error of that. The error has three sources:
//
//   - the share M;
//   - the directions of pools, which are off by twice the error of a share;
//   - the 2^-56 that fixed cuts off each direction.
func (c *core) consumption(slot uint32, consumed *[resources.MaxKinds]float64) (largest, err float64) {
	n := &c.nodes[slot]
	g := n.group
	if g.order != nil {
		for k := range c.kinds {
			if c.usedUp>>k&1 == 0 {
				consumed[k] = float64(n.usage[k]) * c.inverse[k]
				largest = max(largest, consumed[k])
			}
		}
		return largest, jobError
	}
	m, err := c.smallest(g)
	for k := range c.kinds {
		if c.usedUp>>k&1 == 0 {
			e := m*g.sum.near[k].float() + float64(g.closed[k])*c.inverse[k]
			if consumed[k] = e; e > largest {
				largest = e
			}
		}
	}
	err = 3 * max(g.worst, err)
	switch cut := m * float64(g.sum.jobs+int64(len(g.pools))) * 0x1p-55; {
	case cut < largest*0x1p-48:
		err += 0x1p-48
	case cut < largest:
		err += cut / largest
	case c.counts(&n.usage):
		err = unbounded
	default:
		return 0, jobError
	}
	if err > 0x1p-4 {
		err = unbounded
	}
	return largest, err
}

// counts reports whether v has some of a kind that is not used up.
func (c *core) counts(v *resources.Vector) bool {
	for k := range c.kinds {
		if c.usedUp>>k&1 == 0 && c.total[k] > 0 && v[k] > 0 {
			return true
		}
	}
	return false
}

// directed reports whether a pool sums up directions, because its parent needs its
// own.
func (c *core) directed(pool uint32) bool {
	n := &c.nodes[pool]
	return n.parent != none && n.group.order == nil
}

// below returns the largest fraction that a node has of its min share. Ok is false
// if it has no min share or is not below it.
//
// A node that has its min share of any one kind is not below: then it wants little
// of the others.
func (c *core) below(slot uint32) (part ratio, ok bool) {
	n := &c.nodes[slot]
	if !n.promised {
		return part, false
	}
	part = ratio{0, 1, 1}
	for k, q := range c.settings[slot].min {
		if q > 0 {
			if n.usage[k] >= q {
				return part, false
			}
			if r := (ratio{n.usage[k], q, 1}); r.compare(part) > 0 {
				part = r
			}
		}
	}
	return part, true
}

// contestOf returns the first contest that a member with the given share is in.
func (c *core) contestOf(g *group, slot uint32, share float64) uint8 {
	if share > 0 && g.order == nil {
		if _, ok := c.below(slot); !ok {
			return low
		}
	}
	return ahead
}

// compareNeeds compares two members of the contest ahead. Members below their min
// shares come first, by the part of these that they have.
func (c *core) compareNeeds(x, y uint32) int {
	p, ok := c.below(x)
	q, other := c.below(y)
	switch {
	case ok && other:
		return p.compare(q)
	case ok:
		return -1
	case other:
		return 1
	}
	return 0
}

// tieBreak returns the sign d of a comparison of two members. In a tie, it is that
// of the Order of the pool, if there is one, then that of their addition.
func (c *core) tieBreak(g *group, d int, x, y uint32) int {
	if d == 0 && g.order != nil {
		d = g.order(Child{c, x}, Child{c, y})
	}
	return cmp.Or(d, cmp.Compare(c.nodes[x].seq, c.nodes[y].seq))
}

// satisfied is the key in the contest ahead of a member that is not below its min
// share. Members below theirs have smaller keys.
const satisfied uint64 = 0x3ff << 52 // 1 as a float64

// keys returns the keys of a job or a pool in the contests ahead and low, with
// rounding errors.
func (c *core) keys(g *group, slot uint32) (first, second uint64) {
	n := &c.nodes[slot]
	if n.promised {
		if part, ok := c.below(slot); ok {
			first, second = math.Float64bits(float64(part.num)/float64(part.den)/2), noEntry
			if n.share > 0 && g.order == nil {
				second = math.Float64bits(n.share)
			}
			return first, second
		}
	}
	if n.share > 0 && g.order == nil {
		return noEntry, math.Float64bits(n.share)
	}
	return satisfied, noEntry // the Order decides, or the addition
}

// settle brings a pool up to date in its parent, after its members have changed,
// and returns the parent.
func (c *core) settle(slot uint32) (parent uint32) {
	n := &c.nodes[slot]
	g := n.group
	if n.parent == none {
		n.open = g.opened > 0
		return none
	}
	pg := c.nodes[n.parent].group
	directed := c.directed(n.parent)
	if n.open && directed {
		pg.sum.near.sub(&g.own, c.kinds)
	}
	c.consume(slot)
	pg.spread(g.err)
	if open := g.opened > 0; open != n.open {
		n.open = open
		count(pg, n)
		if !open {
			c.absent(pg, slot)
		}
	}
	if n.open {
		if directed {
			pg.sum.near.add(&g.own, c.kinds)
		}
		c.present(pg, slot)
	}
	return n.parent
}

// count notes in g that its member n was opened or closed.
func count(g *group, n *node) {
	if n.open {
		g.opened++
	} else {
		g.opened--
	}
	shift(&g.closed, &n.usage, n.open)
}

// settleUp settles a pool and all above.
func (c *core) settleUp(slot uint32) {
	for slot != none {
		slot = c.settle(slot)
	}
}

// resettle settles all pools from one down, the lowest first. It plays no match
// before both sides are settled.
func (c *core) resettle(slot uint32) {
	if g := c.nodes[slot].group; g.lazy || len(g.pools) > 0 {
		g.lazy = true
		g.worst = 0
		g.spread(jobError)
		for _, s := range g.pools {
			c.resettle(s)
		}
		g.lazy = false
		c.replay(g)
	}
	c.settle(slot)
}

// spread notes the error of the share of a member. The largest one counts until
// resettle.
func (g *group) spread(err float64) {
	if err > g.worst {
		g.worst, g.tolerance = err, tolerance(err)
	}
}
