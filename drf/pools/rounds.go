package pools

import (
	"cmp"
	"slices"
)

// rounds computes the rounds in which the children of a pool divide its fair share.
// It keeps its memory from one pool to the next.
type rounds struct {
	probe        core // idle and full copies of the siblings
	places, ends []int
}

// of returns the places of the siblings in a new order, and the end of each round
// in it. The siblings of one round divide by weight the rest that earlier rounds
// leave.
//
// Without an Order there is one round. With one, min shares play no part:
//
//   - The places are in the Order of siblings that hold nothing.
//   - Two neighbours are of one round if the first goes behind the second once it
//     holds all of the cell.
//
// So [Fair] makes one round, as does any Order that puts the smaller usage first.
// [FIFO] and [Priority] make a round for each sibling. An Order by priority, then
// by share, makes one for each priority.
func (t *rounds) of(c *core, order Order, siblings []Standing) (places, ends []int) {
	n := len(siblings)
	t.places, t.ends = t.places[:0], t.ends[:0]
	for place := range n {
		t.places = append(t.places, place)
	}
	if order != nil {
		t.probeSiblings(c, siblings)
		idle := func(place int) Child { return Child{&t.probe, uint32(place)} }
		full := func(place int) Child { return Child{&t.probe, uint32(place + n)} }
		slices.SortFunc(t.places, func(a, b int) int {
			return cmp.Or(order(idle(a), idle(b)), cmp.Compare(idle(a).Seq(), idle(b).Seq()))
		})
		for i := 1; i < n; i++ {
			if order(idle(t.places[i]), full(t.places[i-1])) >= 0 {
				t.ends = append(t.ends, i)
			}
		}
	}
	t.ends = append(t.ends, n)
	return t.places, t.ends
}

// probeSiblings copies each of the siblings twice: at its place as one that holds
// nothing, and n places further as one that holds all of the cell.
func (t *rounds) probeSiblings(c *core, siblings []Standing) {
	n := len(siblings)
	s := &t.probe
	s.total, s.inverse, s.kinds = c.total, c.inverse, c.kinds
	s.nodes = slices.Grow(s.nodes[:0], 2*n)[:2*n]
	s.settings = slices.Grow(s.settings[:0], 2*n)[:2*n]
	for i := range siblings {
		slot := siblings[i].Node.slot
		was := &c.nodes[slot]
		idle := node{sort: was.sort, weight: was.weight, seq: was.seq}
		full := idle
		full.usage, full.share = c.total, 1/was.weight
		s.nodes[i], s.nodes[n+i] = idle, full
		priority := c.settings[slot].priority
		s.settings[i].priority, s.settings[n+i].priority = priority, priority
	}
}
