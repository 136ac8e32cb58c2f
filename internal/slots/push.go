package slots

// step is an arc of a path. Task moves to another location; if it is none, a unit moves
// along an arc of the tree or to or from the sink.
type step struct {
	from, to Loc
	task     int32
	cost     int64
}

// push moves one unit from v to a location in need, which may be v itself unless away is
// set, and reports whether there was a path. Only arcs of reduced cost 0 are used. They
// lead only towards locations that the last search found to be nearer to need, by their
// rank, so that no path leads around in circles. A location that led nowhere is not tried
// again.
func (n *Net) push(v Loc, away bool) bool {
	s := &n.search
	if s.rankOf(v) == unranked {
		return false
	}
	s.path = s.path[:0]
	for n.locs[v].excess >= 0 || away && len(s.path) == 0 {
		if st, ok := n.forward(v); ok {
			s.path = append(s.path, st)
			v = st.to
			continue
		}
		s.label[v].rank = unranked
		if !n.work.spend(1 + len(n.locs[v].here)) {
			return false
		}
		last := len(s.path) - 1
		if last < 0 {
			return false
		}
		v = s.path[last].from
		s.path = s.path[:last]
	}
	for _, st := range s.path {
		n.move(st)
	}
	return true
}

// move carries a unit along st.
func (n *Net) move(st step) {
	if st.task != none {
		n.leave(st.task)
		n.place(st.task, st.to, st.cost)
		return
	}
	switch from, to := &n.locs[st.from], &n.locs[st.to]; {
	case st.to == Sink:
		n.pass(st.from, 1)
		return
	case st.from == Sink:
		n.pass(st.to, -1)
		return
	case to.parent == st.from:
		to.down++
	default:
		from.down--
	}
	n.gain(st.from, -1)
	n.gain(st.to, 1)
}

// forward returns the next arc out of v that push may use.
func (n *Net) forward(v Loc) (step, bool) {
	s := &n.search
	lab, l, kids := &s.label[v], &n.locs[v], n.kids[v]
	price := n.price[v]
	open := func(w Loc) bool { return n.price[w] == price && s.rankOf(w) < lab.rank }
	if v == Sink {
		for ; int(lab.next) < len(n.locs); lab.next++ {
			if w := lab.next; n.locs[w].out > 0 && open(w) {
				return step{v, w, none, 0}, true
			}
		}
		return step{}, false
	}
	// Arcs are numbered: the sink or the kids, the parent, the tasks.
	up := int32(len(kids))
	if l.leaf {
		up = 1
		if lab.next == 0 {
			if l.out < l.capacity && open(Sink) {
				return step{v, Sink, none, 0}, true
			}
			lab.next = 1
		}
	}
	for ; lab.next < up; lab.next++ {
		if w := kids[lab.next]; open(w) {
			return step{v, w, none, 0}, true
		}
	}
	if lab.next == up {
		if l.down > 0 && open(l.parent) {
			return step{v, l.parent, none, 0}, true
		}
		lab.next++
	}
	for ; int(lab.next-up-1) < len(l.here); lab.next++ {
		who := &l.here[lab.next-up-1]
		if n.limits.above(who, price) {
			continue
		}
		t := who.task
		here := n.cur[t].cost
		least := never
		opts := n.optionsOf(t)
		for i := range opts {
			o := &opts[i]
			if o.at == v {
				continue
			}
			cost := o.cost(n.now)
			sum := cost + n.price[o.at]
			if sum == here+price && s.rankOf(o.at) < lab.rank {
				return step{v, o.at, t, cost}, true
			}
			least = min(least, sum)
		}
		n.limits.note(who, least-here)
	}
	return step{}, false
}
