package pools

import (
	"cmp"
	"slices"
)

// turns says in which turns the children of a pool divide what it has. It keeps
// its memory from one pool to the next.
type turns struct {
	stage        core // where siblings pose
	places, ends []int
}

// of returns the places of the siblings in a new order, and where in it each
// turn ends. Those of one turn divide by weight what the turns before leave.
//
// Without an Order all are of one turn. With one, it is asked about a cell in
// which nobody was promised anything. Where nobody holds anything, it says in
// which order they come; and two neighbours in that order are of one turn if the
// first goes behind the second once it holds all of the cell. So [Fair] makes
// one turn, as does any Order that puts first who holds less, [FIFO] and
// [Priority] as many as there are siblings, and an Order by priority, then by
// share, one for each priority.
func (t *turns) of(c *core, order Order, siblings []Standing) (places, ends []int) {
	n := len(siblings)
	t.places, t.ends = t.places[:0], t.ends[:0]
	for place := range n {
		t.places = append(t.places, place)
	}
	if order != nil {
		t.pose(c, siblings)
		idle := func(place int) Child { return Child{&t.stage, uint32(place)} }
		sated := func(place int) Child { return Child{&t.stage, uint32(place + n)} }
		slices.SortFunc(t.places, func(a, b int) int {
			return cmp.Or(order(idle(a), idle(b)), cmp.Compare(idle(a).Seq(), idle(b).Seq()))
		})
		for i := 1; i < n; i++ {
			if order(idle(t.places[i]), sated(t.places[i-1])) >= 0 {
				t.ends = append(t.ends, i)
			}
		}
	}
	t.ends = append(t.ends, n)
	return t.places, t.ends
}

// pose puts each of the siblings on the stage twice: at its place as one that
// holds nothing, and n places further as one that holds all of the cell.
func (t *turns) pose(c *core, siblings []Standing) {
	n := len(siblings)
	s := &t.stage
	s.total, s.inverse, s.kinds = c.total, c.inverse, c.kinds
	s.nodes = slices.Grow(s.nodes[:0], 2*n)[:2*n]
	s.settings = slices.Grow(s.settings[:0], 2*n)[:2*n]
	for i := range siblings {
		slot := siblings[i].Node.slot
		was := &c.nodes[slot]
		idle := node{sort: was.sort, weight: was.weight, seq: was.seq}
		sated := idle
		sated.usage, sated.share = c.total, 1/was.weight
		s.nodes[i], s.nodes[n+i] = idle, sated
		priority := c.settings[slot].priority
		s.settings[i].priority, s.settings[n+i].priority = priority, priority
	}
}
