package slots

import (
	"context"

	"github.com/cellsched/cellsched/internal/mcf"
)

// scale solves the problem by cost scaling, and takes over places and prices. Its time
// has a bound that does not depend on which tasks contend for which slots.
func (n *Net) scale(ctx context.Context) error {
	// With a unit of room left in them, the arcs of trees keep a parent from
	// being dearer than its kids, as all else here relies on.
	g := n.graph(n.now, 1)
	s, err := g.Solve(ctx)
	if err != nil {
		return err
	}
	n.load(s)
	return nil
}

// load takes over a solution of graph: arcs are in the order of tasks and their
// options, then of trees, then of leaves.
func (n *Net) load(s mcf.Solution) {
	flow := s.Flow
	node := 0
	next := func() int32 {
		units := flow[0]
		flow = flow[1:]
		return int32(units)
	}
	n.free, n.off, n.idle, n.total = 0, 0, n.idle[:0], total{}
	n.stale, n.dirty, n.changed = false, n.dirty[:0], n.changed[:0]
	for v := range n.locs {
		l := &n.locs[v]
		l.here, l.down, l.out, l.excess = l.here[:0], 0, 0, 0
	}
	for t := range n.tasks {
		if n.tasks[t].n == 0 {
			continue
		}
		node++
		for _, o := range n.optionsOf(int32(t)) {
			if next() == 0 {
				continue
			}
			if n.cur[t].at != o.at {
				n.touched = append(n.touched, int32(t))
			}
			l := &n.locs[o.at]
			n.cur[t] = place{cost: o.cost(n.now), at: o.at, pos: int32(len(l.here))}
			n.tasks[t].drift = unsure
			n.total.add(n.cur[t].cost)
			l.here = append(l.here, seat{task: int32(t)})
		}
	}
	for v := range n.locs {
		if l := &n.locs[v]; l.parent != none {
			l.down = next()
		}
	}
	for v := range n.locs {
		if l := &n.locs[v]; l.leaf {
			l.out = next()
			if l.parent != none {
				n.free += int64(l.capacity - l.out)
			}
		}
	}
	// There a price is what a unit has cost so far, here what it has yet to.
	for v := range n.price {
		n.price[v] = s.Price[node+int(Sink)] - s.Price[node+v]
	}
	n.measure()
}
