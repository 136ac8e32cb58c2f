package pools

import (
	"cmp"

	"github.com/cellsched/cellsched/resources"
)

// Child is what an [Order] sees of a job or a pool: a view, good for as long as
// the call of the Order that it was given to. The zero Child has nothing.
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

// Priority is what it was given; see [Tree.SetPriority].
func (c Child) Priority() int64 {
	if c.core == nil {
		return 0
	}
	return c.core.settings[c.slot].priority
}

// Weight is what it counts.
func (c Child) Weight() float64 {
	if c.core == nil {
		return 0
	}
	return c.core.nodes[c.slot].weight
}

// Share is its weighted dominant share, rounded to 40 binary digits: that of a
// pool is by hierarchical DRF. Rounding may hide a tie or a difference; siblings
// without an Order are compared exactly.
func (c Child) Share() float64 {
	if c.core == nil {
		return 0
	}
	return round(c.core.nodes[c.slot].share)
}

// Usage is what it holds, and all below it, in base units.
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

// Order compares two children of one pool: negative where a goes first,
// positive where b does, and where it is 0 the one added earlier goes first. It
// must be a pure function of what it sees of the two, transitive, and must not
// call the tree.
//
// Children below their min shares go first, by the part that they have of these.
// The Order is asked about the others, and about children with equal parts.
// Without an Order, the one of these that was added earlier goes first.
//
// A pool without an Order is shared by DRF. One with an Order counts, to its
// own siblings, as holding the plain sum of what is in it.
type Order func(a, b Child) int

// FIFO is first come, first served.
func FIFO(a, b Child) int { return cmp.Compare(a.Seq(), b.Seq()) }

// Priority puts the larger priority first, then whoever came first.
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

// part is what a child holds of a kind over its weight.
func (c Child) part(kind resources.Kind) ratio {
	if c.core == nil {
		return ratio{}
	}
	n := &c.core.nodes[c.slot]
	return ratio{n.usage[kind], 1, n.weight}
}
