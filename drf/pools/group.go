package pools

import (
	"math"

	"github.com/cellsched/cellsched/resources"
)

// unwanted is the demand of a member without one, which fits nowhere.
var unwanted = resources.Uniform(math.MaxInt64)

// group is the state of a pool's members, which are pools, jobs and bands, or of a
// band's jobs.
//
// A band uses only order, contests, members, opened, which counts all of its jobs,
// and sum, over all of them.
type group struct {
	order    Order // nil is DRF
	contests [2]contest
	members  []uint32           // by place; none where vacant
	demands  []resources.Vector // by place; unwanted for pools and where vacant
	vacant   []uint32           // places
	pools    []uint32           // members that are pools
	bands    map[resources.Vector]uint32
	opened   int              // members that are open
	closed   resources.Vector // usage below of members that are not open
	sum      direction        // of open members
	own      heading          // of this pool, as its parent counts it
	exactly  exactly          // of this pool
	err      float64          // bounds the relative error of the share of this pool
	worst    float64          // the largest error of a member's share
	// tolerance is the distance of two keys, as the bits of float64, within which
	// errors may hide their order.
	tolerance uint64
	band      bool
	crude     int              // of a band: number of crude jobs, see core.classify
	task      float64          // of a band: the demand as a part of the total
	most      resources.Vector // at least the largest demand of an open member below
	least     resources.Vector // at most the smallest demand below that more room would open
	seen      resources.Vector // the room at the last refit; unwanted if a member is new since
	stale     bool             // refit has to look at the members
	lazy      bool             // matches are played in replay only
	// ties reports that of two equal members the one at the lower place may not
	// win: there is an Order, or places are not in the order of addition.
	ties bool
}

// join makes slot a member of the group of a node, with a demand.
func (c *core) join(owner, slot uint32, demand *resources.Vector) {
	g, n := c.nodes[owner].group, &c.nodes[slot]
	n.in = owner
	if v := len(g.vacant); v > 0 {
		n.place, g.vacant = g.vacant[v-1], g.vacant[:v-1]
		g.ties = true
	} else {
		n.place = uint32(len(g.members))
		if n.place > 0 {
			before := g.members[n.place-1]
			g.ties = g.ties || before == none || c.nodes[before].seq > n.seq
		}
		g.members = append(g.members, none)
		if c.nodes[owner].sort == isPool {
			g.demands = append(g.demands, unwanted)
		}
	}
	g.members[n.place] = slot
	if c.nodes[owner].sort == isPool {
		g.demands[n.place] = *demand
	} else {
		c.classify(n)
	}
	if n.sort == isPool {
		g.pools = append(g.pools, slot)
	}
}

// quit removes slot, which is in no contest, from its group.
func (c *core) quit(slot uint32) {
	n := &c.nodes[slot]
	g := c.nodes[n.in].group
	g.members[n.place] = none
	if c.nodes[n.in].sort == isPool {
		g.demands[n.place] = unwanted
	} else if n.crude {
		n.crude = false
		g.crude--
	}
	g.vacant = append(g.vacant, n.place)
	if n.sort == isPool {
		for i, s := range g.pools {
			if s == slot {
				g.pools = append(g.pools[:i], g.pools[i+1:]...)
				break
			}
		}
	}
	n.in = none
}

// demand returns the amount that the next task of a job or a band takes, or
// unwanted.
func (c *core) demand(slot uint32) *resources.Vector { return c.demandOf(&c.nodes[slot]) }

func (c *core) demandOf(n *node) *resources.Vector {
	if n.in == none {
		return &unwanted
	}
	if owner := &c.nodes[n.in]; owner.sort == isBand {
		return &c.nodes[owner.in].group.demands[owner.place]
	}
	return &c.nodes[n.in].group.demands[n.place]
}

// want makes a parked job a member of its pool, or of the pool's band with the same
// demand.
func (c *core) want(slot uint32, demand *resources.Vector) {
	n := &c.nodes[slot]
	pool := n.parent
	g := c.nodes[pool].group
	first, ok := g.bands[*demand]
	switch {
	case n.limited: // it fits on terms of its own
		c.enlist(pool, slot, demand)
	case !ok:
		if g.bands == nil {
			g.bands = make(map[resources.Vector]uint32)
		}
		g.bands[*demand] = slot
		c.enlist(pool, slot, demand)
	default:
		if c.nodes[first].sort == isJob {
			first = c.unite(first)
			g.bands[*demand] = first
		}
		c.include(first, slot)
	}
	c.settleUp(pool)
}

// enlist makes a job a member of a pool. The caller settles the pool.
func (c *core) enlist(pool, slot uint32, demand *resources.Vector) {
	c.join(pool, slot, demand)
	c.admit(pool, slot)
}

// include makes a job a member of a band. The caller settles the pool.
func (c *core) include(band, slot uint32) {
	c.join(band, slot, nil)
	n, b := &c.nodes[slot], &c.nodes[band]
	g := c.nodes[b.parent].group
	b.group.opened++
	shift(&b.usage, &n.usage, false)
	if c.directed(b.parent) {
		var d direction
		c.toward(n, c.portion(&n.usage), &d, c.exact)
		b.group.sum.add(&d, c.kinds)
		if b.open {
			g.sum.add(&d, c.kinds)
		}
	}
	c.present(b.group, slot)
	if b.open {
		shift(&g.closed, &n.usage, true)
		c.present(g, band)
	}
}

// unite puts a band in the place of a job that was alone with its demand.
func (c *core) unite(job uint32) (band uint32) {
	pool := c.nodes[job].parent
	band = c.newSlot(isBand, pool)
	n, b, g := &c.nodes[job], &c.nodes[band], c.nodes[pool].group
	b.in, b.place, b.open, b.ahead = pool, n.place, n.open, n.ahead
	b.usage, b.group.order, b.group.ties = n.usage, g.order, g.order != nil
	g.ties = true // it stands where its best job does, whichever that is
	g.members[n.place] = band
	if c.directed(pool) {
		c.toward(n, c.portion(&n.usage), &b.group.sum, c.exact)
	}
	b.group.opened = 1
	b.group.task = c.portion(c.demand(band))
	n.open, n.ahead = false, false // its band is, or is not
	c.join(band, job, nil)
	c.present(b.group, job)
	return band
}

// park removes a job from its pool or band, if it is in one.
func (c *core) park(slot uint32) {
	n := &c.nodes[slot]
	if n.in == none {
		return
	}
	pool := n.parent
	g := c.nodes[pool].group
	if n.in != pool {
		c.exclude(slot)
	} else {
		if n.open {
			c.setOpen(pool, slot, false)
		}
		if !n.limited {
			delete(g.bands, *c.demand(slot))
		}
		c.quit(slot)
	}
	c.settleUp(pool)
}

// exclude removes a job from its band, and an empty band from its pool. The caller
// settles the pool.
func (c *core) exclude(slot uint32) {
	n := &c.nodes[slot]
	band := n.in
	b := &c.nodes[band]
	g := c.nodes[b.parent].group
	c.absent(b.group, slot)
	c.quit(slot)
	b.group.opened--
	shift(&b.usage, &n.usage, true)
	if c.directed(b.parent) {
		var d direction
		c.toward(n, c.portion(&n.usage), &d, c.exact)
		b.group.sum.sub(&d, c.kinds)
		if b.open {
			g.sum.sub(&d, c.kinds)
		}
	}
	if b.open {
		shift(&g.closed, &n.usage, false)
		c.present(g, band)
	}
	if b.group.opened == 0 {
		if b.open {
			c.setOpen(b.parent, band, false)
		}
		delete(g.bands, *c.demand(band))
		c.quit(band)
		c.drop(band)
	}
}
