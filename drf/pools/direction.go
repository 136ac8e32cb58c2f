package pools

import "github.com/cellsched/cellsched/resources"

// fixed is a sum of up to 2^24 numbers from 0 to 2^20: units of 2^-18, and units of
// 2^-56 for the rest. Both are plain integers, so a subtraction undoes an addition
// exactly: sums do not drift.
type fixed struct{ coarse, fine int64 }

// direction is a node's share of each kind over its largest share, times its
// weight. It is the part of each total that the node would hold if its weighted
// share were 1. Sums and differences of directions have the same type.
type direction struct {
	near heading
	jobs int64 // number of directions of jobs in the sum
	// exact are the residues of the direction times the totals: see core.keep. A
	// sum has those of jobs only, as core.exactly computes those of pools.
	exact [resources.MaxKinds]residue
	kept  bool // some residue may not be 0
}

// heading is a direction with a rounding error in each kind.
type heading [resources.MaxKinds]fixed

func toFixed(f float64) fixed {
	f *= 1 << 18
	coarse := int64(f)
	return fixed{coarse, int64((f - float64(coarse)) * (1 << 38))}
}

func (f fixed) float() float64 {
	return float64(f.coarse)*(1.0/(1<<18)) + float64(f.fine)*(1.0/(1<<56))
}

func (h *heading) add(e *heading, kinds int) {
	for k := range kinds {
		h[k].coarse += e[k].coarse
		h[k].fine += e[k].fine
	}
}

func (h *heading) sub(e *heading, kinds int) {
	for k := range kinds {
		h[k].coarse -= e[k].coarse
		h[k].fine -= e[k].fine
	}
}

func (d *direction) add(e *direction, kinds int) {
	d.near.add(&e.near, kinds)
	d.jobs += e.jobs
	if e.kept {
		d.kept = true
		for k := range kinds {
			d.exact[k] = d.exact[k].plus(e.exact[k])
		}
	}
}

func (d *direction) sub(e *direction, kinds int) {
	d.near.sub(&e.near, kinds)
	d.jobs -= e.jobs
	if e.kept {
		d.kept = true
		for k := range kinds {
			d.exact[k] = d.exact[k].minus(e.exact[k])
		}
	}
}

// toward computes the direction of a job from the job and the totals alone. Largest
// is the portion of its usage. Residues are computed if exact.
func (c *core) toward(n *node, largest float64, d *direction, exact bool) {
	if largest == 0 {
		*d = direction{}
		return
	}
	c.head(n, largest, &d.near)
	d.jobs, d.kept = 1, exact
	if exact {
		c.headExactly(n, &d.exact)
	}
}

// head computes the direction of a job with rounding errors.
func (c *core) head(n *node, largest float64, h *heading) {
	if largest == 0 {
		*h = heading{}
		return
	}
	f := n.weight / largest
	for k := range c.kinds {
		h[k] = toFixed(min(float64(n.usage[k])*c.inverse[k]*f, n.weight))
	}
}

// headExactly computes the residues of the direction of a job times the totals.
// The share of the job is not 0.
func (c *core) headExactly(n *node, exact *[resources.MaxKinds]residue) {
	unit := c.jobUnit(n)
	for k := range c.kinds {
		exact[k] = residue(n.usage[k]).times(unit)
	}
}

// direct returns the direction of a job or a band. That of a job is computed
// into d.
func (c *core) direct(n *node, d *direction) *direction {
	if n.sort == isBand {
		return &n.group.sum
	}
	c.toward(n, c.portion(&n.usage), d, c.exact)
	return d
}
