package pool

import "github.com/cellsched/cellsched/resources"

// mostTree answers which is the first machine with room for a need. Inner nodes
// hold the largest amount of each kind below them; node 1 is the root, i's
// children are 2i and 2i+1.
type mostTree struct {
	nodes []resources.Vector
	width int // leaves, a power of two
	kinds int // that some machine has had: the others are 0 on all machines
}

// cover makes room for the kinds that a machine has.
func (t *mostTree) cover(capacity *resources.Vector) {
	for k, most := range capacity {
		if most > 0 {
			t.kinds = max(t.kinds, k+1)
		}
	}
}

// grow makes room for n machines.
func (t *mostTree) grow(n int) {
	if n <= t.width {
		return
	}
	width := max(1, t.width)
	for width < n {
		width *= 2
	}
	old := t.nodes
	nodes := make([]resources.Vector, 2*width)
	if t.width > 0 {
		copy(nodes[width:], old[t.width:])
	}
	for i := width - 1; i > 0; i-- {
		nodes[i] = nodes[2*i].Max(nodes[2*i+1])
	}
	t.nodes, t.width = nodes, width
}

// set changes the leaf of a machine and the maxima above it.
func (t *mostTree) set(node int, room *resources.Vector) {
	i := t.width + node
	t.nodes[i] = *room
	if i == 1 {
		return
	}
	for i >>= 1; i > 0; i >>= 1 {
		changed := int64(0)
		to, a, b := &t.nodes[i], &t.nodes[2*i], &t.nodes[2*i+1]
		for k := range to[:t.kinds] {
			most := max(a[k], b[k])
			changed |= to[k] ^ most
			to[k] = most
		}
		if changed == 0 {
			return
		}
	}
}

// first returns the first machine in [from, to) with room for need, or -1.
func (t *mostTree) first(need *resources.Vector, from, to int) int {
	return t.search(need, 1, 0, t.width, from, to)
}

func (t *mostTree) search(need *resources.Vector, i, low, high, from, to int) int {
	if high <= from || to <= low || !resources.Fits(need, &t.nodes[i]) {
		return -1
	}
	if high-low == 1 {
		return low
	}
	mid := (low + high) / 2
	if at := t.search(need, 2*i, low, mid, from, to); at >= 0 {
		return at
	}
	return t.search(need, 2*i+1, mid, high, from, to)
}
