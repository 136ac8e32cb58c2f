package drf

import "github.com/cellsched/cellsched/resources"

// tournament is a tree over the waiting members of a group. Node 1 is the root,
// the children of i are 2i and 2i+1, the leaves begin at len/2. Each node holds
// the slot of the winner below it, and the least need of each kind below it.
// Subtrees in which nothing fits are skipped.
//
// The matches are decided by the stored places of members. A key grows as time
// passes and with each start, which also moves the turn and ends urgency. These
// changes move a member back, and refresh finds them later. A change that moves a
// member forward reranks it at once. So a stored place is never behind the present
// one. A winner with a stored place equal to the present one is the first of all.
type tournament struct {
	nodes []uint32 // slots; 0, the root's, where there is none
	least []resources.Vector
	free  []int32 // leaves without a member
}

func (t *tournament) any() bool { return len(t.nodes) > 0 && t.nodes[1] != 0 }

// needed returns the least need below the root.
func (t *tournament) needed() *resources.Vector {
	if len(t.nodes) == 0 {
		return &unwanted
	}
	return &t.least[1]
}

// insert puts a member on a leaf.
func (q *FairQueue) insert(t *tournament, slot uint32) {
	if len(t.free) == 0 {
		q.widen(t)
	}
	n := len(t.free) - 1
	q.members[slot].place = t.free[n]
	t.free = t.free[:n]
	q.show(t, slot)
}

// drop takes a member from its leaf.
func (q *FairQueue) drop(t *tournament, slot uint32) {
	t.free = append(t.free, q.members[slot].place)
	q.hide(t, slot)
}

// hide takes a member out of the order and keeps its leaf for show.
func (q *FairQueue) hide(t *tournament, slot uint32) {
	leaf := q.members[slot].place
	t.nodes[leaf], t.least[leaf] = 0, unwanted
	q.replay(t, leaf)
	q.relax(t, leaf)
}

func (q *FairQueue) show(t *tournament, slot uint32) {
	leaf := q.members[slot].place
	t.nodes[leaf], t.least[leaf] = slot, *q.members[slot].leastNeed()
	q.replay(t, leaf)
	q.relax(t, leaf)
}

// leastNeed returns the need of a tenant, or the least of each kind in a group.
func (m *member) leastNeed() *resources.Vector {
	if m.children != nil {
		return m.children.order.needed()
	}
	return &m.need
}

// widen doubles the leaves.
func (q *FairQueue) widen(t *tournament) {
	old := *t
	half := max(4, len(old.nodes))
	t.nodes, t.least = make([]uint32, 2*half), make([]resources.Vector, 2*half)
	for i := range t.least {
		t.least[i] = unwanted
	}
	for i, slot := range old.nodes[len(old.nodes)/2:] {
		t.nodes[half+i], t.least[half+i] = slot, old.least[len(old.nodes)/2+i]
		if slot != 0 {
			q.members[slot].place = int32(half + i)
		}
	}
	for i := 2*half - 1; i >= half+len(old.nodes)/2; i-- {
		t.free = append(t.free, int32(i))
	}
	for i := half - 1; i > 0; i-- {
		t.nodes[i] = q.winner(t.nodes[2*i], t.nodes[2*i+1])
		t.least[i] = t.least[2*i].Min(t.least[2*i+1])
	}
}

// replay decides the matches from a leaf up.
func (q *FairQueue) replay(t *tournament, leaf int32) {
	slot := t.nodes[leaf]
	for i := leaf >> 1; i > 0; i >>= 1 {
		w := q.winner(t.nodes[2*i], t.nodes[2*i+1])
		if w == t.nodes[i] && w != slot {
			return // another won before and wins now
		}
		t.nodes[i] = w
	}
}

// relax brings the least needs from a leaf up up to date.
func (q *FairQueue) relax(t *tournament, leaf int32) {
	for i := leaf >> 1; i > 0; i >>= 1 {
		if !lower(&t.least[i], &t.least[2*i], &t.least[2*i+1]) {
			return
		}
	}
}

// lower sets to to the lesser of a and b in each kind, and reports whether that
// changed it.
func lower(to, a, b *resources.Vector) bool {
	changed := int64(0)
	for k := range to {
		least := min(a[k], b[k])
		changed |= to[k] ^ least
		to[k] = least
	}
	return changed != 0
}

// rewant notes that the need of a waiting member has changed, in the order of its
// parent and of the groups above.
func (q *FairQueue) rewant(slot uint32) {
	for slot != root && q.members[slot].state == inOrder {
		m := &q.members[slot]
		t, need := &q.members[m.parent].children.order, m.leastNeed()
		if t.least[m.place] == *need {
			return
		}
		t.least[m.place] = *need
		q.relax(t, m.place)
		slot = m.parent
	}
}

// winner returns which of two slots is first in the order. The member below its
// guarantee is first, then the higher class, the least key, the one served longest
// ago, and the one that began to wait first. A slot of 0 is no member, and never
// first.
func (q *FairQueue) winner(a, b uint32) uint32 {
	if a == 0 || b == 0 {
		return a | b
	}
	x, y := &q.members[a], &q.members[b]
	switch {
	case x.urgent != y.urgent:
		if x.urgent {
			return a
		}
		return b
	case x.class != y.class:
		if x.class > y.class {
			return a
		}
		return b
	case x.key < y.key:
		return a
	case y.key < x.key:
		return b
	case x.turn != y.turn:
		if x.turn < y.turn {
			return a
		}
		return b
	case x.since < y.since:
		return a
	}
	return b
}

// first returns the member that is first in the order, with its key up to date,
// or 0.
func (q *FairQueue) first(t *tournament) uint32 {
	for t.any() {
		slot := t.nodes[1]
		if !q.refresh(slot) {
			return slot
		}
		q.replay(t, q.members[slot].place)
	}
	return 0
}

// firstWithin is first among the tenants with a need that fits in most, and the groups
// with such a least need.
func (q *FairQueue) firstWithin(t *tournament, most *resources.Vector) uint32 {
	for t.any() {
		slot := q.search(t, 1, most)
		if slot == 0 || !q.refresh(slot) {
			return slot
		}
		q.replay(t, q.members[slot].place)
	}
	return 0
}

// search returns the winner below node i among the members that fit, by stored
// keys.
func (q *FairQueue) search(t *tournament, i int, most *resources.Vector) uint32 {
	slot := t.nodes[i]
	switch {
	case slot == 0 || !resources.Fits(&t.least[i], most):
		return 0
	case resources.Fits(&t.least[q.members[slot].place], most):
		return slot
	case i >= len(t.nodes)/2:
		return 0
	}
	return q.winner(q.search(t, 2*i, most), q.search(t, 2*i+1, most))
}

// rerank decides the matches of a member anew after an event of its own.
func (q *FairQueue) rerank(slot uint32) {
	m := &q.members[slot]
	if slot == root || m.state != inOrder {
		return
	}
	if q.refresh(slot) {
		q.replay(&q.members[m.parent].children.order, m.place)
	}
}
