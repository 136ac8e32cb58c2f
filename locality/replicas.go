package locality

import (
	"fmt"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v3"
)

// Replicas maps blocks of data to the nodes that hold a copy. B is the caller's key
// of a block; the rules for keys of a Go map apply to it.
//
// The zero Replicas is empty, of any size, and ready to use; do not copy it after
// first use. [NewReplicas] makes a bounded one. All methods are safe for concurrent
// use and, block by block, linearizable. [Replicas.Nodes] never blocks. The writers
// hold a lock on a small part of the map for the length of one update. All of them
// pause while the map grows or shrinks.
type Replicas[B comparable] struct {
	// blocks is set once, by the first writer. A list in the map is replaced,
	// never written through, so that readers may keep what they loaded; no
	// list is empty.
	blocks atomic.Pointer[xsync.MapOf[B, []Node]]

	clock *clock[B] // nil if not bounded
}

// NewReplicas returns an empty Replicas that knows at most so many copies of all
// blocks together. Each goroutine that is just adding one may exceed that by one.
// It is an error if most is less than 1.
//
// Beyond the bound a block is forgotten, with all its copies: one without a recent
// look-up or new copy (second chance). Its copies still exist, and a caller that
// finds them may add them again. Of a block with too many copies by itself, some
// are forgotten. A walk is no look-up.
//
// Writers that bring or forget a block wait for each other. Forgetting one costs
// O(1), amortised over the look-ups since.
func NewReplicas[B comparable](most int) (*Replicas[B], error) {
	if most < 1 {
		return nil, fmt.Errorf("locality: replicas of at most %d copies, want at least 1", most)
	}
	return &Replicas[B]{clock: newClock[B](most)}, nil
}

// Add notes that n holds a copy of block and reports whether that is new.
//
// Cost: O(replicas of block) and two allocations if new; a look-up without
// allocation if not.
func (r *Replicas[B]) Add(block B, n Node) bool {
	if r == nil {
		return false
	}
	m := r.blocks.Load()
	if m == nil {
		// The loser of the race finds the winner's map.
		r.blocks.CompareAndSwap(nil, xsync.NewMapOf[B, []Node]())
		m = r.blocks.Load()
	}
	if holds(m, block, n) {
		return false // as it was at the moment of the look-up
	}
	added, fresh := false, false
	m.Compute(block, func(nodes []Node, known bool) ([]Node, bool) {
		at, found := slices.BinarySearch(nodes, n)
		if found {
			return nodes, false
		}
		added, fresh = true, !known
		grown := make([]Node, len(nodes)+1)
		copy(grown, nodes[:at])
		grown[at] = n
		copy(grown[at+1:], nodes[at:])
		return grown, false
	})
	if added && r.clock != nil {
		r.clock.added(m, block, n, fresh)
	}
	return added
}

// Remove notes that n no longer holds a copy of block and reports whether it
// did. A block without copies is forgotten. For a node that is gone, remove it
// from each block in a walk over [Replicas.All].
//
// Cost: O(replicas of block) and at most two allocations if it did; a look-up
// without allocation if not.
func (r *Replicas[B]) Remove(block B, n Node) bool {
	if r == nil {
		return false
	}
	m := r.blocks.Load()
	if m == nil || !holds(m, block, n) {
		return false
	}
	removed, gone := false, false
	m.Compute(block, func(nodes []Node, _ bool) ([]Node, bool) {
		at, found := slices.BinarySearch(nodes, n)
		if !found {
			return nodes, len(nodes) == 0
		}
		removed = true
		if gone = len(nodes) == 1; gone {
			return nil, true
		}
		left := make([]Node, len(nodes)-1)
		copy(left, nodes[:at])
		copy(left[at:], nodes[at+1:])
		return left, false
	})
	if removed && r.clock != nil {
		r.clock.taken(m, block, 1, gone)
	}
	return removed
}

// Drop forgets block and all its copies, and returns the nodes that held one.
// The slice is shared and must not be modified.
func (r *Replicas[B]) Drop(block B) []Node {
	if r == nil {
		return nil
	}
	m := r.blocks.Load()
	if m == nil {
		return nil
	}
	nodes, known := m.LoadAndDelete(block)
	if known && r.clock != nil {
		r.clock.taken(m, block, len(nodes), true)
	}
	return nodes
}

// Nodes returns the nodes that hold a copy of block, in ascending order; none
// for an unknown block.
//
// The slice is shared and must not be modified. It never changes: later
// updates are seen by a later call. Cost: one look-up, two if bounded, no
// allocation.
func (r *Replicas[B]) Nodes(block B) []Node {
	if r == nil {
		return nil
	}
	if r.clock != nil {
		r.clock.use(block)
	}
	return r.peek(block)
}

// All walks the blocks and the nodes that hold each, as [Replicas.Nodes] returns
// them.
//
// The order is not specified. The loop body may call any method. No block comes
// twice. A block that changes during the walk comes as it was before or after the
// change, or is missed if it was absent at either time. Each walk allocates a small
// buffer.
func (r *Replicas[B]) All() iter.Seq2[B, []Node] {
	return func(yield func(B, []Node) bool) {
		if r == nil {
			return
		}
		if m := r.blocks.Load(); m != nil {
			m.Range(yield)
		}
	}
}

// peek is Nodes without a second chance for the block.
func (r *Replicas[B]) peek(block B) []Node {
	if r == nil {
		return nil
	}
	m := r.blocks.Load()
	if m == nil {
		return nil
	}
	nodes, _ := m.Load(block)
	return nodes
}

// holds reports whether n is in block's list, without a lock.
func holds[B comparable](m *xsync.MapOf[B, []Node], block B, n Node) bool {
	nodes, _ := m.Load(block)
	_, found := slices.BinarySearch(nodes, n)
	return found
}
