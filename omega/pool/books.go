package pool

import (
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// books are the machines of the pool with the room held there: the truth, kept under the
// pool's mutex. All else asks them for room.
//
// Invariant: for each machine, free plus the needs of its leases is the block that the
// pool has of it. Free is negative in a kind only where the block was lowered below the
// needs of its leases; such a machine has no room. A pool without a cell has the whole of
// each machine as its block.
type books struct {
	machines []machine // by node number
	byName   map[string]locality.Node
	total    resources.Vector // capacity of all machines that are not gone
	most     mostTree         // of the room that claims may use
	next     int              // where the last search by next fit ended
}

// machine is one machine of a pool.
type machine struct {
	name     string
	capacity resources.Vector
	block    resources.Vector // of the capacity, that leases come out of
	held     resources.Vector
	room     resources.Vector // free and neither draining nor reserved
	kept     resources.Vector // reserved for keeper
	older    resources.Vector // held by leases from before that
	owed     resources.Vector // to requests that a guarantee covers
	asked    resources.Vector // by reservations of other schedulers in the cell, which lack it
	assigned resources.Vector // of owed: what promises have got
	promises []*promise       // in the order in which they were made
	owing    int              // how many these are
	keeper   *waiter
	leases   int
	draining bool
	shrunk   bool  // its block was lowered: it may hold more
	gone     bool  // removed; the number is not used again
	lent     *lent // by a cell; nil without one
}

// free returns what the machine has beyond what is held.
func (m *machine) free() (v resources.Vector) {
	if m.gone {
		return v
	}
	for k := range v {
		v[k] = max(0, m.block[k]-m.held[k])
	}
	return v
}

// unasked returns what is free and does not go back to the cell.
func (m *machine) unasked() resources.Vector {
	v := m.free()
	for k := range v {
		v[k] = max(0, v[k]-m.asked[k])
	}
	return v
}

// grants reports whether the machine takes new leases: it neither drains nor holds
// more than its block of any kind.
func (m *machine) grants() bool {
	return !m.gone && !m.draining && (!m.shrunk || resources.Fits(&m.held, &m.block))
}

// unowed returns what is free beyond what is owed, and what goes back to the cell.
func (m *machine) unowed() resources.Vector {
	v := m.free()
	for k := range v {
		v[k] = max(0, v[k]-m.owed[k]-m.asked[k])
	}
	return v
}

// settle recomputes the room of a machine after a change.
func (b *books) settle(node int) {
	m := &b.machines[node]
	m.room = resources.Vector{}
	if m.grants() {
		for k := range m.room {
			m.room[k] = max(0, m.block[k]-m.held[k]-m.kept[k]-m.owed[k]-m.asked[k])
		}
	}
	b.most.set(node, &m.room)
}

// take notes a lease that fits.
func (b *books) take(node int, need *resources.Vector) {
	m := &b.machines[node]
	m.leases++
	if m.keeper != nil || m.owing > 0 || m.draining || m.asked != (resources.Vector{}) {
		for k := range m.held {
			m.held[k] += need[k]
		}
		b.settle(node)
		return
	}
	for k := range m.held {
		m.held[k] += need[k]
		m.room[k] -= need[k]
	}
	b.most.set(node, &m.room)
}

// give notes the end of a lease.
func (b *books) give(node int, need *resources.Vector) {
	m := &b.machines[node]
	m.leases--
	if m.keeper != nil || m.owing > 0 || m.draining || m.shrunk || m.asked != (resources.Vector{}) {
		for k := range m.held {
			m.held[k] -= need[k]
		}
		b.settle(node)
		return
	}
	for k := range m.held {
		m.held[k] -= need[k]
		m.room[k] += need[k]
	}
	b.most.set(node, &m.room)
}

// find returns the first machine with room for need, from the one on that the
// last search found, or -1. Cost: O(log machines) where one has room for all of
// it; machines that have enough of each kind only together cost as much each.
func (b *books) find(need *resources.Vector) int {
	if b.most.width == 1 {
		if len(b.machines) == 1 && resources.Fits(need, &b.most.nodes[1]) {
			return 0
		}
		return -1
	}
	if b.next >= len(b.machines) {
		b.next = 0
	}
	at := b.most.first(need, b.next, len(b.machines))
	if at < 0 {
		at = b.most.first(need, 0, b.next)
	}
	if at >= 0 {
		b.next = at
	}
	return at
}

// ever reports whether a machine that is not gone could hold need if it were
// empty. One that drains may come back into use.
func (b *books) ever(need *resources.Vector) bool {
	for i := range b.machines {
		if m := &b.machines[i]; !m.gone && resources.Fits(need, &m.capacity) {
			return true
		}
	}
	return false
}

// mostTree answers which is the first machine with room for a need. Inner nodes
// hold the largest amount of each kind below them; node 1 is the root, i's
// children are 2i and 2i+1.
type mostTree struct {
	nodes []resources.Vector
	width int // leaves, a power of two
	kinds int // of which some machine has had any: the others are 0 everywhere
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

// alive returns how many machines are not gone.
func (b *books) alive() (n int) {
	for i := range b.machines {
		if !b.machines[i].gone {
			n++
		}
	}
	return n
}
