package pools

import (
	"math"

	"github.com/cellsched/cellsched/resources"
)

// fixed is a sum of numbers from 0 to 2^20, up to 2^24 of them: units of 2^-18,
// and units of 2^-56 of what is left. Both are plain integers, so that what was
// added can be taken off again without a trace: sums do not drift.
type fixed struct{ coarse, fine int64 }

// direction is, by kind, the share that a node holds over its largest, times
// its weight: what it would hold were its weighted share 1.
type direction [resources.MaxKinds]fixed

func toFixed(f float64) fixed {
	f *= 1 << 18
	coarse := int64(f)
	return fixed{coarse, int64((f - float64(coarse)) * (1 << 38))}
}

func (f fixed) float() float64 {
	return float64(f.coarse)*(1.0/(1<<18)) + float64(f.fine)*(1.0/(1<<56))
}

func (d *direction) add(e *direction, kinds int) {
	for k := range kinds {
		d[k].coarse += e[k].coarse
		d[k].fine += e[k].fine
	}
}

func (d *direction) sub(e *direction, kinds int) {
	for k := range kinds {
		d[k].coarse -= e[k].coarse
		d[k].fine -= e[k].fine
	}
}

// round keeps 40 binary digits after the first. What is equal as a fraction and
// was computed in two ways is a tie then, as long as it is not within some
// units in the last place of float64 of the middle between two such numbers.
func round(share float64) float64 {
	return math.Float64frombits((math.Float64bits(share) + roundedOff/2 + 1) &^ roundedOff)
}

// roundedOff are the bits of a float64 that round clears.
const roundedOff = 1<<12 - 1

// portion returns the largest fraction of the totals that v is, without weight.
func (c *core) portion(v *resources.Vector) (largest float64) {
	for k := range c.kinds {
		largest = max(largest, float64(v[k])*c.inverse[k])
	}
	return largest
}

// toward computes the direction of a job, which depends on no state but that of
// the job and the totals. Largest is the portion of what the job holds.
func (c *core) toward(n *node, largest float64, d *direction) {
	if largest == 0 {
		*d = direction{}
		return
	}
	f := n.weight / largest
	for k := range c.kinds {
		d[k] = toFixed(min(float64(n.usage[k])*c.inverse[k]*f, n.weight))
	}
}

// heading returns the direction of any member, computed into d where it has to
// be.
func (c *core) heading(n *node, d *direction) *direction {
	switch n.sort {
	case isPool:
		return &n.group.own
	case isBand:
		return &n.group.sum
	}
	c.toward(n, c.portion(&n.usage), d)
	return d
}

// consume computes what a pool counts as consuming, as its parent sees it: its
// share, and its direction.
//
// By the definition the consumption of a pool is that of its blocked members,
// and that of the others scaled down to the smallest weighted share M among
// them. A member scaled to the share M holds M times its direction. Hence it is
// M*S + B, with S the sum of directions of those who are not blocked and B what
// the blocked ones hold, and a charge changes one direction in S and perhaps M.
// Members of whom M would be 0 have no direction; they are left out of M: with
// them, a pool would count as holding nothing as long as any of its jobs does,
// and one of many jobs would take the cell before others got a second task.
func (c *core) consume(slot uint32) {
	n := &c.nodes[slot]
	g := n.group
	var eaten [resources.MaxKinds]float64
	largest := 0.0
	if g.order == nil {
		m := c.smallest(g)
		for k := range c.kinds {
			if c.usedUp>>k&1 == 0 {
				eaten[k] = m*g.sum[k].float() + float64(g.shut[k])*c.inverse[k]
				largest = max(largest, eaten[k])
			}
		}
	} else {
		for k := range c.kinds {
			if c.usedUp>>k&1 == 0 {
				eaten[k] = float64(n.usage[k]) * c.inverse[k]
				largest = max(largest, eaten[k])
			}
		}
	}
	n.share = round(largest / n.weight)
	if !c.directed(n.parent) {
		return
	}
	if largest == 0 {
		g.own = direction{}
		return
	}
	f := n.weight / largest
	for k := range c.kinds {
		g.own[k] = toFixed(min(eaten[k]*f, n.weight))
	}
}

// directed reports whether a pool sums up directions: whether anybody asks for
// its own.
func (c *core) directed(pool uint32) bool {
	n := &c.nodes[pool]
	return n.parent != none && n.group.order == nil
}

// below tells whether a node is below its min share, and the largest fraction
// it has of that.
//
// It is not below where it has what it was promised of any one kind: then it
// wants little of the others.
func (c *core) below(slot uint32) (ratio float64, ok bool) {
	n := &c.nodes[slot]
	for k, q := range c.settings[slot].min {
		if q > 0 {
			if n.usage[k] >= q {
				return 0, false
			}
			ratio = max(ratio, float64(n.usage[k])/float64(q))
		}
	}
	return ratio, true
}

// keys returns what a job or a pool that takes part is ordered by, for each
// contest.
func (c *core) keys(g *group, slot uint32) (keys [2]uint64) {
	return c.keysAt(g, slot, c.nodes[slot].share)
}

// keysAt is keys for a share that it may not have now.
func (c *core) keysAt(g *group, slot uint32, share float64) (keys [2]uint64) {
	if share > 0 && g.order == nil {
		keys = [2]uint64{nobody, math.Float64bits(share)}
	} else { // the order decides, or who came first
		keys = [2]uint64{math.Float64bits(1), nobody}
	}
	if c.nodes[slot].promised {
		if ratio, ok := c.below(slot); ok {
			keys[ahead] = math.Float64bits(round(ratio / 2)) // less than those above, who count as 1
		}
	}
	return keys
}

// settle brings a pool up to date in its parent, after something about its
// members has changed, and returns the parent.
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
		pg.sum.sub(&g.own, c.kinds)
	}
	c.consume(slot)
	if open := g.opened > 0; open != n.open {
		n.open = open
		count(pg, n)
		if !open {
			c.absent(pg, slot)
		}
	}
	if n.open {
		if directed {
			pg.sum.add(&g.own, c.kinds)
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
	shift(&g.shut, &n.usage, n.open)
}

// settleUp settles a pool and all above.
func (c *core) settleUp(slot uint32) {
	for slot != none {
		slot = c.settle(slot)
	}
}

// resettle settles all pools from one down, the lowest first.
func (c *core) resettle(slot uint32) {
	for _, s := range c.nodes[slot].group.pools {
		c.resettle(s)
	}
	c.settle(slot)
}
