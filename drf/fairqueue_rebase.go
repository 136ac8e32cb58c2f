package drf

import "math"

// rebaseAfter is the contended time after which the sums are rebased: 2.4 hours. A
// pass over all members is rare then, and sums stay far below what int64 holds, also
// those of members with a weight of 1,000.
const rebaseAfter = 1 << 43

// longest is the longest time between two calls that is counted, 52 days.
const longest = 1 << 52

// Sums grow with contended time, and those of a member that begins to wait with its
// weight too. Before they come near to the end of int64 all are rebased: in each
// class of a group the least key of a waiting member is taken off, as service by
// weight, and the clock begins anew. The order depends on differences of keys alone,
// so it stays as it was.

// ranks are the members of one class of a group, which are compared by key.
type ranks struct {
	group uint32
	class int32
}

// rebase lowers all sums and sets the clock to zero. Cost: O(n log n).
func (q *FairQueue) rebase() {
	levels := make(map[ranks]float64)
	for i := range q.members {
		m := &q.members[i]
		if i == root || m.gen&1 == 0 || m.state != inOrder || q.byHeld {
			continue
		}
		r := ranks{m.parent, m.class}
		q.rerank(uint32(i))
		if level, ok := levels[r]; !ok || m.key < level {
			levels[r] = m.key
		}
	}
	level := func(r ranks) float64 {
		served := q.mark(q.members[r.group].children, r.class).served
		if level, ok := levels[r]; ok {
			served = min(level, served)
		}
		// A multiple that times most weights is a whole number, so that equal keys
		// stay equal.
		return max(0, math.Floor(served/64)*64)
	}
	for i := range q.members {
		if m := &q.members[i]; m.gen&1 == 1 {
			q.touch(uint32(i))
			if i != root {
				off := level(ranks{m.parent, m.class})
				if m.state != inOrder { // it comes back at a key of minus the slack at least
					off = max(0, min(off, m.raw(q.kinds, q.clock)+q.members[m.parent].children.slack(m.weight)))
				}
				m.rebase(off, q.clock)
			}
			m.epoch++
		}
	}
	for i := range q.members {
		g := q.members[i].children
		if g == nil {
			continue
		}
		g.marks.rebase(level(ranks{uint32(i), 0}), q.epoch)
		for class, k := range g.classes {
			k.rebase(level(ranks{uint32(i), class}), q.epoch)
		}
	}
	q.epoch++ // of a Run from before only what comes from now on is to be received
	q.clock, q.rebased = 0, 0
	for i := range q.members {
		q.rerank(uint32(i))
	}
}

// rebase takes level times the weight off the sums.
func (m *member) rebase(level float64, clock int64) {
	off := toSum(level * m.weight)
	m.before += off >> sumBits
	for k := range m.sums {
		s := &m.sums[k]
		s.settled, s.offset = s.received(clock)-off, 0
	}
}

// rebase takes level off the marks.
func (k *marks) rebase(level float64, epoch uint32) {
	if k.epoch == epoch {
		k.epoch, k.served, k.passed = epoch+1, k.served-level, k.passed-level
	}
}
