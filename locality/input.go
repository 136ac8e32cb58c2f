package locality

import (
	"cmp"
	"math"
	"slices"
)

// Input is the amount that a task reads of one block. A negative amount counts as
// 0. Sums end at the largest int64.
type Input[B comparable] struct {
	Block B
	Bytes int64
}

// Near returns the number of bytes of the inputs with a copy within level l of node
// n: with level 0 on the node itself. A block counts in full or not at all.
//
// Cost: for each input a look-up and as [Topology.Level]; no allocation.
func (r *Replicas[B]) Near(t *Topology, n Node, l Level, inputs ...Input[B]) (bytes int64) {
	for _, in := range inputs {
		if nodes := r.Nodes(in.Block); len(nodes) > 0 && t.Level(n, nodes...) <= l {
			bytes = plus(bytes, in.Bytes)
		}
	}
	return bytes
}

// Holder is a node with the number of bytes of a task's input there.
type Holder struct {
	Node  Node
	Bytes int64
}

// Holders returns the nodes that hold some of the inputs: a task's preference, in
// order. Nodes with the most bytes come first, and of equal ones the lowest number.
// Cost: O(copies log copies), and the list.
func (r *Replicas[B]) Holders(inputs ...Input[B]) []Holder {
	var all []Holder
	for _, in := range inputs {
		if in.Bytes <= 0 {
			continue
		}
		for _, n := range r.Nodes(in.Block) {
			all = append(all, Holder{n, in.Bytes})
		}
	}
	slices.SortFunc(all, func(a, b Holder) int { return cmp.Compare(a.Node, b.Node) })
	merged := all[:0]
	for _, h := range all {
		if k := len(merged); k > 0 && merged[k-1].Node == h.Node {
			merged[k-1].Bytes = plus(merged[k-1].Bytes, h.Bytes)
		} else {
			merged = append(merged, h)
		}
	}
	slices.SortStableFunc(merged, func(a, b Holder) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return merged
}

// plus returns sum + bytes, saturated, for a sum that is not negative. Negative
// bytes count as 0.
func plus(sum, bytes int64) int64 {
	bytes = max(bytes, 0)
	if bytes > math.MaxInt64-sum {
		return math.MaxInt64
	}
	return sum + bytes
}
