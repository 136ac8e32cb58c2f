package slots

// fill fills locations in need one by one, from wherever the price of that is
// least: in the end from the sink, as slots are free. Where a slot that many
// want falls free, a search backwards from there is short. It reports whether it
// filled one.
func (n *Net) fill() (filled bool) {
	enough := n.work.used + n.arcs()
	for _, v := range n.dirty {
		for v != Sink && n.work.used < enough && n.locs[v].excess < 0 && n.pull(v) {
			filled = true
		}
	}
	return filled
}

// pull sends one unit from the sink to where v, which is in need, is, or a
// location in need on the way.
func (n *Net) pull(v Loc) bool {
	s := &n.search
	n.begin()
	s.alone = true
	s.relax(v, 0)
	for {
		if n.scanLate() {
			continue
		}
		u, ok := s.next()
		if !ok {
			return false
		}
		// Of all at one distance the sink comes first: the others may be groups
		// that thousands of tasks lead to.
		if l := &s.label[Sink]; l.seen == s.epoch && l.dist == s.dist {
			u = Sink
		}
		if s.settle(u) {
			if u == Sink {
				n.cheapen()
				return n.push(Sink, true)
			}
			n.scan(u, s.dist)
		}
		if !n.work.spend(1) {
			return false
		}
	}
}
