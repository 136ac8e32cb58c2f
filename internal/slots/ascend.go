package slots

// ascend resolves contention for full leaves one leaf at a time, without a search. The
// price of the leaf rises until one of the tasks that sit there, or the one that came, is
// as well off elsewhere. That task leaves and looks for another place.
//
// This is the auction of the shortest-augmenting-path algorithms for assignments, R.
// Jonker and A. Volgenant, "A shortest augmenting path algorithm for dense and sparse
// linear assignment problems", 1987. Prices only rise, and every step keeps all arcs'
// reduced costs. Where a price cannot rise because some task is as well off already, the
// rest is left to the search.
func (n *Net) ascend() {
	enough := n.work.used + n.arcs()
	for i := len(n.idle) - 1; i >= 0 && n.work.used < enough; i-- {
		n.contend(n.idle[i])
	}
}

// contend looks for a place for the idle task t, then for each task that has to make
// room. It ends when one is found, or when it is undecided which task should leave.
func (n *Net) contend(t int32) {
	for ties, steps := 0, 0; ties < maxTies && steps < maxSteps && n.work.spend(1); steps++ {
		best, second, dearer := n.cheapest(t)
		opts := n.optionsOf(t)
		for i := range opts {
			o := &opts[i]
			c := o.cost(n.now)
			if c+n.price[o.at] != best {
				continue
			}
			if n.room(o.at) || n.makeRoom(o.at) {
				n.take(t, o.at, c)
				n.note(t, second-c)
				n.absorb(o.at)
				return
			}
			if l := &n.locs[o.at]; !l.leaf || l.out < l.capacity || l.down > 0 || n.price[o.at]-n.price[Sink] > ceiling {
				return
			}
		}
		// All options of least cost are raised together, until there is one more of them,
		// or a task leaves one.
		at, loser, rise := Loc(none), int32(none), dearer-best
		cost := int64(0)
		for i := 0; i < len(opts) && rise > 0; i++ {
			o := &opts[i]
			c := o.cost(n.now)
			if c+n.price[o.at] != best {
				continue
			}
			if who, limit := n.weakest(o.at); limit-n.price[o.at] < rise {
				at, loser, cost, rise = o.at, who, c, limit-n.price[o.at]
			}
		}
		switch {
		case rise > ceiling:
			return
		case rise == 0:
			ties++
		default:
			ties = 0
		}
		for i := range opts {
			if o := &opts[i]; rise > 0 && o.cost(n.now)+n.price[o.at] == best {
				n.price[o.at] += rise
			}
		}
		if at != none {
			n.leave(loser)
			n.rest(loser)
			n.take(t, at, cost)
			if second == best {
				second += rise
			}
			n.note(t, second-cost)
			t = loser
		}
		n.moved(rise) // last: it may shift all prices, and what was noted goes
	}
}

// maxTies is how often in a row a task may have to go although no price rises. With more
// of it, tasks chase each other over equal prices. With 64 the same tasks are left
// without a place, and ascending takes twice as long.
const (
	maxTies  = 4
	maxSteps = 64 // in all: where too many want too little, prices rise for ever
	ceiling  = 1 << 57
)

// weakest returns the task at v that is the first to leave when its price rises, and the
// price at which it does.
func (n *Net) weakest(v Loc) (loser int32, limit int64) {
	here := n.locs[v].here
	for {
		n.work.spend(len(here))
		limit = never
		var who *seat
		for i := range here {
			if l := n.limits.of(n, &here[i]); l < limit {
				who, limit = &here[i], l
			}
		}
		if who == nil {
			return none, never
		}
		if now := n.limit(who.task); now != limit {
			n.limits.note(who, now)
			continue
		}
		return who.task, limit
	}
}

// makeRoom makes room at the leaf v by sending a unit that a group has there to
// another leaf of the group, and reports whether it could.
func (n *Net) makeRoom(v Loc) bool {
	l := &n.locs[v]
	if !l.leaf || l.down == 0 || l.out < l.capacity || l.excess > 0 {
		return false
	}
	if !n.room(l.parent) {
		return false
	}
	n.move(step{v, l.parent, none, 0})
	n.absorb(l.parent)
	return true
}
