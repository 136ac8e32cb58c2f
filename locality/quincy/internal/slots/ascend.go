package slots

// ascend settles quarrels over full leaves one leaf at a time, without a
// search. The price of the leaf rises until one of those who sit there, or the
// one who came, is as well off elsewhere; that one goes and looks for another
// place. This is the auction of the shortest-augmenting-path algorithms for
// assignments, R. Jonker and A. Volgenant, "A shortest augmenting path
// algorithm for dense and sparse linear assignment problems", 1987: prices only
// rise, every step keeps all arcs' reduced costs, and where a price cannot rise
// because somebody is as well off already, the rest is left to the search.
func (n *Net) ascend() {
	enough := n.work.used + n.arcs()
	for i := len(n.idle) - 1; i >= 0 && n.work.used < enough; i-- {
		n.contend(n.idle[i])
	}
}

// contend looks for a place for the idle task t, and for whoever has to make
// room for it, until one is found or there is no telling who should go.
func (n *Net) contend(t int32) {
	for ties, steps := 0, 0; ties < maxTies && steps < maxSteps && n.work.spend(1); steps++ {
		// All options of least cost are raised together, until there is one
		// more of them, or somebody leaves one.
		best, second := n.twoBest(t)
		at, loser, rise := Loc(none), int32(none), second-best
		cost := int64(0)
		opts := n.optionsOf(t)
		for i := range opts {
			o := &opts[i]
			c := o.cost(n.now)
			if c+n.price[o.at] != best {
				continue
			}
			if n.room(o.at) || n.shift(o.at) {
				n.take(t, o.at, c)
				n.sinkIn(o.at)
				return
			}
			l := &n.locs[o.at]
			if !l.leaf || l.out < l.capacity || l.down > 0 || n.price[o.at]-n.price[Sink] > ceiling {
				return
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
		n.moved(rise)
		if at == none {
			continue
		}
		n.leave(loser)
		n.rest(loser)
		n.take(t, at, cost)
		t = loser
	}
}

// maxTies is how often in a row somebody may have to go although no price
// rises. With more of it, tasks chase each other over equal prices; with 64 the
// same tasks are left without a place, and ascending takes twice as long.
const (
	maxTies  = 4
	maxSteps = 64 // in all: where too many want too little, prices rise for ever
	ceiling  = 1 << 57
)

// twoBest returns what the cheapest options of t come to, with their prices,
// and the next dearer ones.
func (n *Net) twoBest(t int32) (best, second int64) {
	best, second = never, never
	opts := n.optionsOf(t)
	for i := range opts {
		switch sum := opts[i].cost(n.now) + n.price[opts[i].at]; {
		case sum < best:
			best, second = sum, best
		case sum > best && sum < second:
			second = sum
		}
	}
	return best, second
}

// weakest returns who of those at v is the first to leave when its price
// rises, and the price at which it does.
func (n *Net) weakest(v Loc) (loser int32, limit int64) {
	for {
		n.work.spend(len(n.locs[v].here))
		loser, limit = none, never
		for _, t := range n.locs[v].here {
			if l := n.limits.of(n, t); l < limit {
				loser, limit = t, l
			}
		}
		if loser == none {
			return
		}
		if now := n.limit(loser); now != limit {
			n.limits.note(loser, now)
			continue
		}
		return
	}
}

// shift makes room at the leaf v by sending a unit that a group has there to
// another leaf of the group, and reports whether it could.
func (n *Net) shift(v Loc) bool {
	l := &n.locs[v]
	if !l.leaf || l.down == 0 || l.out < l.capacity || l.excess > 0 {
		return false
	}
	if !n.room(l.parent) {
		return false
	}
	n.move(step{v, l.parent, none, 0})
	n.sinkIn(l.parent)
	return true
}
