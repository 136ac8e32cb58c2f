package slots

// near finds places for tasks one by one, forwards, where these are not far. With free
// slots about, or where some tasks have left and others came, most paths are short, and a
// search of everything would be a waste. It gives up on a task after a few looks, and on
// all when it has to give up too often.
func (n *Net) near() {
	failed := 0
	enough := n.work.used + n.arcs()
	for i := len(n.idle) - 1; i >= 0 && failed < maxFailed && n.work.used < enough; i-- {
		if !n.reachOut(n.idle[i]) {
			failed++
		}
	}
}

const (
	maxFailed = 16
	maxLooks  = 1 << 14 // options looked at for one task
)

// reachOut finds the shortest path from the idle task t to a location that can take one
// more. It raises the prices so that the path has reduced cost 0, and moves the unit along
// it.
func (n *Net) reachOut(t int32) bool {
	s := &n.search
	n.begin()
	n.fan(step{none, none, t, 0}, -n.least(t))
	looks := 0
	for looks < maxLooks {
		v, ok := s.next()
		if !ok {
			return false
		}
		if v < 0 {
			more := n.tryOthers(^v)
			if looks += more; !n.work.spend(more) {
				return false
			}
			continue
		}
		if !s.settle(v) {
			continue
		}
		if n.locs[v].excess < 0 || v != Sink && n.room(v) {
			n.arrive(v)
			return true
		}
		// From the sink it goes on to the slots that are held for no task.
		if !n.work.spend(n.expand(v)) {
			return false
		}
	}
	return false
}

// expand looks at all arcs with room that leave v, and returns how many there
// are. What its tasks could do instead is not looked at before the search is as
// far as the least of it may be.
func (n *Net) expand(v Loc) (looks int) {
	s := &n.search
	l := &n.locs[v]
	d := s.label[v].dist
	hop := func(w Loc) {
		if s.nearer(w, d+n.price[w]-n.price[v]) {
			s.from[w] = step{v, w, none, 0}
		}
	}
	if v == Sink {
		for w := range n.locs {
			if n.locs[w].out > 0 {
				hop(Loc(w))
			}
		}
		return len(n.locs)
	}
	if l.out < l.capacity {
		hop(Sink)
	}
	if l.down > 0 {
		hop(l.parent)
	}
	for _, k := range n.kids[v] {
		hop(k)
	}
	for i := range l.here {
		if limit := n.limits.of(n, &l.here[i]); limit < never-2*ceiling {
			s.add(^l.here[i].task, d+max(0, limit-n.price[v]))
		}
	}
	return len(n.kids[v]) + len(l.here)
}

// tryOthers looks at what t could do instead.
func (n *Net) tryOthers(t int32) (looks int) {
	p := n.cur[t]
	n.fan(step{p.at, none, t, 0}, n.search.label[p.at].dist-n.price[p.at]-p.cost)
	return int(n.tasks[t].n)
}

// fan looks at the options of a task, base being how far its location is
// without its price and the cost of sitting there.
func (n *Net) fan(st step, base int64) {
	s := &n.search
	least := never
	opts := n.optionsOf(st.task)
	for i := range opts {
		o := &opts[i]
		if o.at == st.from {
			continue
		}
		c := o.cost(n.now)
		least = min(least, c+n.price[o.at])
		if s.nearer(o.at, base+c+n.price[o.at]) {
			st.to, st.cost = o.at, c
			s.from[o.at] = st
		}
	}
	if st.from != none && least != never {
		n.note(st.task, least-n.cur[st.task].cost)
	}
}

// nearer is relax for searches that note where they came from.
func (s *search) nearer(v Loc, d int64) bool {
	l := &s.label[v]
	if l.seen == s.epoch && l.dist <= d {
		return false
	}
	l.seen, l.dist = s.epoch, d
	s.add(v, d)
	return true
}

// arrive raises the prices of what was settled before v and moves a unit along
// the way there.
func (n *Net) arrive(v Loc) {
	s := &n.search
	for _, u := range s.order {
		n.price[u] += s.label[v].dist - s.label[u].dist
	}
	n.moved(s.label[v].dist)
	if v != Sink {
		defer n.absorb(v)
	}
	for {
		st := s.from[v]
		if st.from == none {
			n.take(st.task, v, st.cost)
			return
		}
		n.move(st)
		v = st.from
	}
}
