package drf

import (
	"iter"
	"math"
	"slices"
)

// rebaseAfter is the contended time of a group after which its sums are rebased:
// 2.4 hours. A pass over all members is rare then. Sums stay far below the end of
// int64, even for members with a weight of 1,000.
const rebaseAfter = 1 << 43

// Sums grow with contended time. The sum of a member that begins to wait also grows
// with its weight. The sums of a group's children are rebased before they come near
// the end of int64. In each class the least key of a waiting member is subtracted,
// as service by weight. The order depends on differences of keys alone, so it stays
// as it was.

// rebase lowers the sums of a group's children. Cost: O(n log n).
func (q *FairQueue) rebase(group uint32) {
	g := q.members[group].children
	g.rebased = q.now
	keys := make(map[int32]*[levels]float64) // least of those that wait, by class
	for slot, m := range q.childrenOf(group) {
		if m.state == inOrder && !q.byHeld {
			q.fold(m)
			if less := g.mark(m.class).levels[m.level].floor - q.place(m); less > 0 {
				m.add(less) // as at a start
			}
			q.rerank(slot)
			least := keys[m.class]
			if least == nil {
				least = &[levels]float64{}
				for i := range least {
					least[i] = math.Inf(1)
				}
				keys[m.class] = least
			}
			least[m.level] = min(least[m.level], m.key)
		}
	}
	// Levels without a start for hours have not followed those above.
	for class, least := range keys {
		k := g.mark(class)
		for i := 1; i < levels; i++ {
			if !math.IsInf(least[i], 1) {
				less := k.follow(i, least[i])
				for j := i; j < levels; j++ {
					least[j] += less
				}
			}
		}
	}
	level := func(class int32) float64 {
		served := g.mark(class).levels[0].served
		if least := keys[class]; least != nil {
			served = min(slices.Min(least[:]), served)
		}
		// A multiple that times most weights is a whole number, so that equal keys
		// stay equal.
		return max(0, math.Floor(served/64)*64)
	}
	for _, m := range q.childrenOf(group) {
		q.fold(m)
		off := level(m.class)
		if m.state != inOrder { // it comes back at a key of minus the slack at least
			off = max(0, min(off, m.raw(q.kinds, q.touch(m))+g.slack(m.weight)))
		}
		q.touch(m)
		m.shift(-off * m.weight)
	}
	g.marks.rebase(level(0))
	for class, k := range g.classes {
		k.rebase(level(class))
	}
	for slot := range q.childrenOf(group) {
		q.rerank(slot)
	}
}

// childrenOf walks all members for the children of a group.
func (q *FairQueue) childrenOf(group uint32) iter.Seq2[uint32, *member] {
	return func(yield func(uint32, *member) bool) {
		for slot := range q.members {
			m := &q.members[slot]
			if slot != root && m.parent == group && m.gen&1 == 1 && !yield(uint32(slot), m) {
				return
			}
		}
	}
}

// shift moves the keys of a member by so much, times the weight, and not the service
// that it has received.
func (m *member) shift(by float64) {
	sum := toSum(by)
	m.before -= sum >> sumBits
	for k := range m.sums {
		m.sums[k].settled += sum
	}
}

// rebase takes level off the marks.
func (k *marks) rebase(level float64) {
	for i := range k.levels {
		k.levels[i].move(-level)
	}
}
