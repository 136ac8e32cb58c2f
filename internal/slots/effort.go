package slots

// effort is a record of the work of former Solves. It bounds that of a round before the
// Solve begins again with an auction.
//
// All of it is counted in arcs looked at and in units without a place, so that the
// same calls give the same places on any machine.
type effort struct {
	// used is how many arcs the last Solve that began with an auction looked at, of how many.
	used, arcs int64
	// units is how many were to be placed when a round last took too long. It grows with
	// each auction since: what took too long once may not do so again.
	units int
}

// auctioned notes a Solve of so many units that began with an auction, and whether it had
// to, as that from the last round's prices took too long.
func (e *effort) auctioned(n *Net, units int, spent bool) {
	e.used, e.arcs = n.work.used, n.arcs()
	switch {
	case spent:
		e.units = units
	case e.units > 0:
		e.units += e.units/4 + 1
	}
}

// units returns how many tasks have no place, and how many locations have more or less
// than they should.
func (n *Net) units() int { return len(n.idle) + n.off }

// warmLimit returns how many arcs a Solve from the last round's prices may look at, in
// proportion to what an auction and the searches after it are likely to take.
//
//   - Of a large round it is three quarters: one that takes both is not much dearer than
//     one from scratch.
//   - Of a small round it is five quarters. Few of these need more than that, and one
//     in twenty needs more than three quarters: to be stopped there costs them twice
//     what they would have taken.
//
// Two looks at every arc are not too many in any case, nor is what takes some tenths of a
// millisecond.
func (n *Net) warmLimit(fresh bool) int64 {
	limit := times(n.looks.warm, n.arcs())
	if e := &n.effort; !fresh && e.arcs > 0 {
		likely := float64(n.arcs()) * float64(e.used) / float64(e.arcs)
		share := 0.75
		if n.units() <= n.live/10 {
			share = 1.25
		}
		limit = min(limit, max(2*n.arcs(), lookEvery, int64(likely*share)))
	}
	return limit
}

// auctionPays reports whether to begin anew: an auction is likely to take less than searches.
// That is so where as many units are to be placed as when searches took too long. It is so,
// too, under two conditions: not all tasks can have a slot, and a tenth of them has no place.
func (n *Net) auctionPays() bool {
	if fresh := len(n.idle) == n.live; !fresh {
		units := n.units()
		if n.effort.units > 0 && units >= n.effort.units {
			return true
		}
		if n.plentyFree() || units <= max(16, n.live/10) {
			return false
		}
	}
	slots := int64(0)
	for i := range n.locs {
		switch l := &n.locs[i]; {
		case !l.leaf:
		case l.parent != none:
			slots += int64(l.capacity) + int64(l.demand)
		case l.demand > 0:
			return true
		}
	}
	return int64(n.live) > slots
}
