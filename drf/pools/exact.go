package pools

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/cellsched/cellsched/drf/internal/fraction"
	"github.com/cellsched/cellsched/resources"
)

// Invariant: the order of siblings is that of their shares as fractions, without
// rounding. In particular, equal shares are a tie, however they were computed.
//
// Two shares are compared in four steps, the first of which decides nearly always.
//
//  1. As float64, each with a bound on its error. Shares further apart than both
//     bounds are in the order of the numbers.
//  2. As fractions of integers, where each is usage/(total*weight) for some kind.
//     So are the shares of jobs, and of pools without an open job that has usage.
//  3. As residues: equal fractions have equal residues, see residue. The sums are
//     kept up to date by each charge, so that no walk is needed.
//  4. With as many digits as tell them apart, see precise. Only unequal shares
//     within about 2^-46 of each other come here.

// jobError bounds the relative error of the share of a job, which is computed in
// at most five roundings of float64.
const jobError = 0x1p-48

// unbounded is the relative error of a share that is only known not to be 0.
const unbounded = 1

// ratio is num/(den*weight).
type ratio struct {
	num, den int64
	weight   float64
}

func (a ratio) compare(b ratio) int {
	return fraction.Compare(a.num, a.den, a.weight, b.num, b.den, b.weight)
}

// tolerance returns the distance of two shares, as the bits of float64, within
// which relative errors may hide their order.
func tolerance(err float64) uint64 {
	if err >= unbounded {
		return math.MaxInt64 - 1<<32 // no two shares are that far apart
	}
	return uint64(err*(5*0x1p52)) + 8
}

// shareOf returns the weighted dominant share of a node and a bound on its error.
func (c *core) shareOf(slot uint32) (share, err float64) {
	n := &c.nodes[slot]
	if n.sort == isPool {
		return n.share, n.group.err
	}
	return n.share, jobError
}

// apart compares two rounded numbers by their bounds on relative errors; ok is
// false where the errors may hide the order.
func apart(a, aErr, b, bErr float64) (sign int, ok bool) {
	known := aErr < unbounded && bErr < unbounded
	return cmp.Compare(a, b), known && math.Abs(a-b) > 2*(aErr*a+bErr*b)
}

// compareShares compares the shares of two members, which are more than 0.
func (c *core) compareShares(x, y uint32) int {
	a, aErr := c.shareOf(x)
	b, bErr := c.shareOf(y)
	if sign, ok := apart(a, aErr, b, bErr); ok {
		return sign
	}
	if p, ok := c.ratioOf(x); ok {
		if q, ok := c.ratioOf(y); ok {
			return p.compare(q)
		}
	}
	if p, ok := c.unitOf(x); ok {
		if q, ok := c.unitOf(y); ok && p == q {
			return 0
		}
	}
	return c.tellApart(x, y, nil)
}

// ratioOf returns the share of a node if it is a usage over a total. That is so for
// a job, for a pool with an order, and for a pool in which no open member has
// usage.
func (c *core) ratioOf(slot uint32) (r ratio, ok bool) {
	n := &c.nodes[slot]
	usage, counted := &n.usage, ^c.usedUp
	switch {
	case n.sort == isJob:
		counted = ^kinds(0)
	case n.group.order == nil:
		if n.group.leader(low) != none {
			return ratio{}, false
		}
		usage = &n.group.closed
	}
	k := c.dominant(usage, counted)
	return ratio{usage[k], max(1, c.total[k]), n.weight}, true
}

// dominant returns the kind with the largest part of the total in usage.
func (c *core) dominant(usage *resources.Vector, counted kinds) (kind int) {
	best := 0.0
	for k := range c.kinds {
		part := float64(usage[k]) * c.inverse[k]
		if part == 0 || part < best*(1-jobError) || counted>>k&1 == 0 {
			continue
		}
		if best == 0 || part > best*(1+jobError) || fraction.Compare(usage[k], c.total[k], 1, usage[kind], c.total[kind], 1) > 0 {
			kind, best = k, part
		}
	}
	return kind
}

// unitOf returns the inverse of the share of a node, which is not 0. Consumption
// times the unit is the direction.
func (c *core) unitOf(slot uint32) (unit residue, ok bool) {
	n := &c.nodes[slot]
	if n.sort == isPool {
		e := c.exactly(slot)
		return e.unit, e.unit != 0
	}
	return c.jobUnit(n), true
}

// jobUnit is unitOf of a job. It is never 0, as amounts are less than the prime.
func (c *core) jobUnit(n *node) residue {
	if n.unit == 0 {
		k := c.dominant(&n.usage, ^kinds(0))
		n.unit = weightResidue(n.weight).times(residue(c.total[k])).times(residue(n.usage[k]).inverse())
	}
	return n.unit
}

// exactly is the share and the direction of a pool, as residues.
type exactly struct {
	known bool    // computed since the pool was settled last
	unit  residue // the inverse of the share; 0 where a residue has none
	own   [resources.MaxKinds]residue
}

// exactly computes the share and the direction of a pool with a share that is not
// 0.
func (c *core) exactly(slot uint32) *exactly {
	n := &c.nodes[slot]
	g := n.group
	e := &g.exactly
	if e.known {
		return e
	}
	*e = exactly{known: true}
	c.keep()
	var consumed [resources.MaxKinds]residue
	var sum [resources.MaxKinds]residue
	scale, plain := residue(0), &g.closed
	if g.order != nil {
		plain = &n.usage
	} else if m := g.leader(low); m != none {
		unit, ok := c.unitOf(c.champion(low, m))
		if !ok {
			return e
		}
		scale = unit.inverse()
		for k := range c.kinds {
			sum[k] = g.sum.exact[k].times(c.inverted[k])
		}
		for _, s := range g.pools {
			if p := &c.nodes[s]; p.open && p.share > 0 {
				below := c.exactly(s)
				if below.unit == 0 {
					return e
				}
				for k := range c.kinds {
					sum[k] = sum[k].plus(below.own[k])
				}
			}
		}
	}
	for k := range c.kinds {
		if c.usedUp>>k&1 == 0 {
			consumed[k] = scale.times(sum[k]).plus(residue(plain[k]).times(c.inverted[k]))
		}
	}
	var near [resources.MaxKinds]float64
	_, err := c.consumption(slot, &near)
	lead := c.leading(slot, nil, &near, err, &consumed)
	e.unit = weightResidue(n.weight).times(consumed[lead].inverse())
	for k := range c.kinds {
		e.own[k] = consumed[k].times(e.unit)
	}
	return e
}

// keep begins to keep sums of residues. Trees in which no shares of pools come
// close do without. Cost: O(n), once.
func (c *core) keep() {
	if c.exact {
		return
	}
	c.exact = true
	for s := range c.nodes {
		n := &c.nodes[s]
		if n.sort != isJob || n.in == none || !c.directed(n.parent) || c.portion(&n.usage) == 0 {
			continue
		}
		d := direction{kept: true}
		c.headExactly(n, &d.exact)
		c.steer(n, &d)
	}
}

// leading returns the kind with the largest part consumed by a pool. Near is the
// consumption with relative errors up to err, exact its residues. Room is that of
// tellApart.
func (c *core) leading(slot uint32, room *resources.Vector, near *[resources.MaxKinds]float64, err float64, exact *[resources.MaxKinds]residue) (kind int) {
	for k := range c.kinds {
		if near[k] > near[kind] {
			kind = k
		}
	}
	for k := range c.kinds {
		if exact[k] == 0 || exact[k] == exact[kind] {
			continue
		}
		if _, ok := apart(near[k], err, near[kind], err); !ok {
			return c.precisely(slot, room)
		}
	}
	return kind
}

// Limits of simple numbers. Unequal quotients of a count and a weight differ by a
// relative 2^-32 at least. Errors and places hide less than 2^-34.
const (
	simpleCount  = 1 << 20
	simpleWeight = 1 << 12  // in units
	simpleUnit   = 1.0 / 16 // of a weight
	simplePlaces = 1<<17 - 1
)

// classify notes whether a job in a band is crude: its usage is no small multiple
// of the band's demand, or its weight is not simple. Shares of other jobs are
// quotients of two exact numbers, so that equal fractions are equal as float64,
// too.
func (c *core) classify(n *node) {
	g := c.nodes[n.in].group
	tasks, simple := n.tasks(c.demandOf(n))
	if simple {
		n.share = tasks / n.weight * g.task
	}
	if simple != n.crude {
		return
	}
	n.crude = !simple
	if n.crude {
		g.crude++
	} else {
		g.crude--
	}
}

// tasks returns the number of tasks of a demand in a job's usage, if that and its
// weight are simple.
func (n *node) tasks(demand *resources.Vector) (tasks float64, simple bool) {
	if units := n.weight / simpleUnit; units > simpleWeight || units != math.Trunc(units) {
		return 0, false
	}
	lead := 0
	for demand[lead] == 0 { // some is not
		lead++
	}
	count := n.usage[lead] / demand[lead]
	if count > simpleCount {
		return 0, false
	}
	for k, q := range demand {
		if hi, lo := bits.Mul64(uint64(count), uint64(q)); hi != 0 || lo != uint64(n.usage[k]) {
			return 0, false
		}
	}
	return float64(count), true
}
