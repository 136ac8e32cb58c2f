package pools

import (
	"cmp"

	"github.com/cellsched/cellsched/resources"
)

// Child is a view of a job or a pool for an [Order]. It is valid during the call of
// the Order that it was given to. The zero Child has nothing.
type Child struct {
	core *core
	slot uint32
}

// Seq is smaller the earlier the child was added to the tree.
func (c Child) Seq() uint64 {
	if c.core == nil {
		return 0
	}
	return c.core.nodes[c.slot].seq
}

// Priority is the child's priority; see [Tree.SetPriority].
func (c Child) Priority() int64 {
	if c.core == nil {
		return 0
	}
	return c.core.settings[c.slot].priority
}

// Weight is the child's weight among its siblings.
func (c Child) Weight() float64 {
	if c.core == nil {
		return 0
	}
	return c.core.nodes[c.slot].weight
}

// Share is the child's weighted dominant share, rounded to 40 binary digits. The
// share of a pool is by hierarchical DRF. Rounding may hide a tie or a difference;
// siblings without an Order are compared exactly.
func (c Child) Share() float64 {
	if c.core == nil {
		return 0
	}
	return round(c.core.nodes[c.slot].share)
}

// Usage is the amount that the child holds, all below it included, in base units.
func (c Child) Usage() resources.Vector {
	if c.core == nil {
		return resources.Vector{}
	}
	return c.core.nodes[c.slot].usage
}

// Min is its min share, in base units.
func (c Child) Min() resources.Vector {
	if c.core == nil {
		return resources.Vector{}
	}
	return c.core.settings[c.slot].min
}

// Order compares two children of one pool: negative if a goes first, positive if b
// does. If it is 0 the child added earlier goes first. It must be transitive, a
// pure function of the two views, and must not call the tree.
//
// Children below their min shares go first, ordered by the part of these that they
// have. The Order decides among the others, and among children with equal parts.
// Without an Order, the child added earlier goes first in such a tie.
//
// A pool without an Order is shared by DRF. A pool with an Order counts, to its own
// siblings, as holding the plain sum of its children.
type Order func(a, b Child) int

// FIFO puts the child that was added earlier first.
func FIFO(a, b Child) int { return cmp.Compare(a.Seq(), b.Seq()) }

// Priority puts the larger priority first, then the child that was added earlier.
func Priority(a, b Child) int { return cmp.Compare(b.Priority(), a.Priority()) }

// Fair returns the order of the Hadoop Fair Scheduler for one kind of resource:
// by usage over weight, compared exactly, the smallest first. For a kind that does
// not exist it is [FIFO].
func Fair(kind resources.Kind) Order {
	if int(kind) >= resources.MaxKinds {
		return FIFO
	}
	return func(a, b Child) int { return a.part(kind).compare(b.part(kind)) }
}

// part is a child's usage of a kind over its weight.
func (c Child) part(kind resources.Kind) ratio {
	if c.core == nil {
		return ratio{}
	}
	n := &c.core.nodes[c.slot]
	return ratio{n.usage[kind], 1, n.weight}
}
