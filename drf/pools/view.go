package pools

import (
	"iter"

	"github.com/cellsched/cellsched/internal/keys"
	"github.com/cellsched/cellsched/resources"
)

// Share returns the weighted dominant share of a node: a job's is of its usage, a
// pool's by hierarchical DRF, as of the last [Tree.Pick]. The number is rounded to
// 40 binary digits. The root's share counts all usage. Cost: O(1).
func (t *Tree[K]) Share(h Node) (share float64, ok bool) {
	if t.none() {
		return 0, false
	}
	n := t.node(h)
	switch {
	case n == nil:
		return 0, false
	case n.parent == none:
		return round(t.core.portion(&n.usage)), true
	}
	return round(n.share), true
}

// Usage returns the amount that a node holds, all below it included. Cost: O(1).
func (t *Tree[K]) Usage(h Node) (usage resources.Vector, ok bool) {
	if t.none() {
		return usage, false
	}
	if n := t.node(h); n != nil {
		return n.usage, true
	}
	return resources.Vector{}, false
}

// Parent returns the pool that a node is in; ok is false for the root. Cost:
// O(1).
func (t *Tree[K]) Parent(h Node) (parent Node, ok bool) {
	if t.none() {
		return parent, false
	}
	n := t.node(h)
	if n == nil || n.parent == none {
		return Node{}, false
	}
	return Node{n.parent, t.core.nodes[n.parent].gen}, true
}

// Children walks the children of a pool, in the order in which they came to it.
// The body may call any method that does not change the tree. Cost: O(n).
func (t *Tree[K]) Children(pool Node) iter.Seq[Node] {
	if t.none() {
		return func(func(Node) bool) {}
	}
	return func(yield func(Node) bool) {
		if t.node(pool) == nil {
			return
		}
		for s := t.core.settings[pool.slot].first; s != none; s = t.core.settings[s].next {
			if !yield(Node{s, t.core.nodes[s].gen}) {
				return
			}
		}
	}
}

// Node returns the node of a key. Cost: one map look-up.
func (t *Tree[K]) Node(key K) (h Node, ok bool) {
	if t.none() {
		return h, false
	}
	if !keys.Findable(key) {
		return Node{}, false
	}
	h, ok = t.byKey[key]
	return h, ok
}

// Key returns the key that a node was added with; the root has none. Cost: O(1).
func (t *Tree[K]) Key(h Node) (key K, ok bool) {
	if t.none() {
		return key, false
	}
	n := t.node(h)
	if n == nil || n.parent == none {
		return key, false
	}
	return t.keys[h.slot], true
}

// Len returns the number of pools and jobs, the root not included.
func (t *Tree[K]) Len() int {
	if t.none() {
		return 0
	}
	return len(t.byKey)
}

// Total returns the total that the tree shares. Cost: O(1).
func (t *Tree[K]) Total() resources.Vector {
	if t.none() {
		return resources.Vector{}
	}
	return t.core.total
}

// Config returns the present configuration of a node; the weight is never 0. Cost:
// O(1).
func (t *Tree[K]) Config(h Node) (config Config, ok bool) {
	if t.none() {
		return config, false
	}
	n := t.node(h)
	if n == nil {
		return Config{}, false
	}
	s := &t.core.settings[h.slot]
	config = Config{Weight: n.weight, Min: s.min, Priority: s.priority}
	if n.limited {
		high := s.max
		config.Max = &high
	}
	if n.group != nil {
		config.Order = n.group.order
	}
	return config, true
}

// Next returns the amount that the next task of a job takes: the last
// [Tree.Demand]. Ok is false while the job is parked. Cost: O(1).
func (t *Tree[K]) Next(job Node) (demand resources.Vector, ok bool) {
	if t.none() {
		return demand, false
	}
	n := t.job(job)
	if n == nil || n.in == none {
		return demand, false
	}
	return *t.core.demand(job.slot), true
}

// Wants returns the amount that a job wants beyond its usage, as [Tree.Standings]
// uses it: kind by kind its next task or its [Tree.Backlog], the larger one. It is
// nothing while the job is parked. Ok is false for a pool. Cost: O(1).
func (t *Tree[K]) Wants(job Node) (more resources.Vector, ok bool) {
	if t.none() {
		return more, false
	}
	n := t.job(job)
	if n == nil {
		return more, false
	}
	if n.in != none {
		more = t.core.demand(job.slot).Max(t.core.settings[job.slot].backlog)
	}
	return more, true
}
