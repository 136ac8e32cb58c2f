package slots

// spread finds the shortest path to every location in need from any unit without a place,
// forwards. It raises prices so that the arcs of these paths have reduced cost 0.
//
// After shorten every unit has a path. But where many slots are wanted and many units want
// one, most paths lead to the same few slots: those next to the cluster, which all can
// reach. After spread the others are as near as these. Without it every next search finds
// a few more, up to a hundred times.
func (n *Net) spread() {
	s := &n.search
	n.begin()
	wanted := 0
	for v := range n.locs {
		switch e := n.locs[v].excess; {
		case e < 0:
			wanted++
		case e > 0:
			s.nearer(Loc(v), 0)
		}
	}
	for _, t := range n.idle {
		n.fan(step{none, none, t, 0}, -n.least(t))
	}
	for wanted > 0 {
		v, ok := s.next()
		if !ok {
			break
		}
		looks := 0
		if v < 0 {
			looks = n.tryOthers(^v)
		} else if s.settle(v) {
			if n.locs[v].excess < 0 {
				wanted--
			}
			looks = n.expand(v)
		}
		if !n.work.spend(looks) {
			break
		}
	}
	for i, v := range s.order {
		n.price[v] += s.dist - s.label[v].dist
		// Paths lead from later to earlier ranks, as after shorten.
		s.label[v].rank = int32(len(s.order) - i)
	}
	n.moved(s.dist)
}
