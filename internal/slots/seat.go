package slots

// seatAll seats the tasks without a place that can sit at once. Tasks that go straight to
// a leaf come first, so that tasks that may go to any leaf of a group take the rest.
func (n *Net) seatAll() {
	for _, leaf := range []bool{true, false} {
		for i := len(n.idle) - 1; i >= 0; i-- {
			n.seat(n.idle[i], leaf)
			if !n.work.spend(1) {
				return
			}
		}
	}
}

func (n *Net) seat(t int32, leaf bool) {
	best, second, _ := n.cheapest(t)
	opts := n.optionsOf(t)
	for i := range opts {
		o := &opts[i]
		cost := o.cost(n.now)
		if cost+n.price[o.at] == best && n.locs[o.at].leaf == leaf && n.room(o.at) {
			n.take(t, o.at, cost)
			n.note(t, second-cost)
			n.absorb(o.at)
			return
		}
	}
}

// cheapest returns what the two cheapest options of t come to, with their prices,
// and the cheapest of those that come to more than the best.
func (n *Net) cheapest(t int32) (best, second, dearer int64) {
	best, second, dearer = never, never, never
	opts := n.optionsOf(t)
	for i := range opts {
		switch sum := opts[i].cost(n.now) + n.price[opts[i].at]; {
		case sum < best:
			best, second, dearer = sum, best, best
		case sum == best:
			second = sum
		case sum < dearer:
			second, dearer = min(second, sum), sum
		}
	}
	return best, second, dearer
}

// take gives the idle task t a place.
func (n *Net) take(t int32, v Loc, cost int64) {
	last := len(n.idle) - 1
	moved := n.idle[last]
	n.idle[n.cur[t].pos] = moved
	n.cur[moved].pos = n.cur[t].pos
	n.idle = n.idle[:last]
	n.place(t, v, cost)
}

// room reports whether v, or a leaf below v, can take one more at once.
func (n *Net) room(v Loc) bool {
	l := &n.locs[v]
	if l.excess < 0 {
		return true
	}
	if l.leaf {
		return l.out < l.capacity && n.price[v] == n.price[Sink] && n.locs[Sink].excess < 0
	}
	if l.kidRound != n.round {
		l.kidRound, l.kid = n.round, 0
	}
	kids := n.kids[v]
	for ; int(l.kid) < len(kids); l.kid++ {
		if k := kids[l.kid]; n.price[k] == n.price[v] && n.room(k) {
			return true
		}
	}
	return false
}

// absorb lets the surplus unit of v go on as room found.
func (n *Net) absorb(v Loc) {
	l := &n.locs[v]
	if l.excess <= 0 {
		return
	}
	if l.leaf {
		n.move(step{v, Sink, none, 0})
		return
	}
	k := n.kids[v][l.kid]
	n.move(step{v, k, none, 0})
	n.absorb(k)
}
