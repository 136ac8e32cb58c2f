package slots

// seatAll seats the tasks without a place that can sit at once: first where
// they go straight to a leaf, so that those who may go to any leaf of a group
// take what is left.
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
	least := n.least(t)
	opts := n.optionsOf(t)
	for i := range opts {
		o := &opts[i]
		cost := o.cost(n.now)
		if n.locs[o.at].leaf == leaf && cost+n.price[o.at] == least && n.room(o.at) {
			n.take(t, o.at, cost)
			n.sinkIn(o.at)
			return
		}
	}
}

// take gives the idle task t a place.
func (n *Net) take(t int32, v Loc, cost int64) {
	last := len(n.idle) - 1
	moved := n.idle[last]
	n.idle[n.cur[t].pos] = moved
	n.cur[moved].pos = n.cur[t].pos
	n.idle = n.idle[:last]
	n.sit(t, v, cost)
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
	for ; int(l.kid) < len(l.kids); l.kid++ {
		if k := l.kids[l.kid]; n.price[k] == n.price[v] && n.room(k) {
			return true
		}
	}
	return false
}

// sinkIn lets the unit that v has got too many go on as room found.
func (n *Net) sinkIn(v Loc) {
	l := &n.locs[v]
	if l.excess <= 0 {
		return
	}
	if l.leaf {
		n.move(step{v, Sink, none, 0})
		return
	}
	k := l.kids[l.kid]
	n.move(step{v, k, none, 0})
	n.sinkIn(k)
}
