package federation

import "github.com/cellsched/cellsched/resources"

// place is a machine of a site.
type place struct {
	site     *site
	machine  int
	borrowed bool
}

// match matches tasks until no waiting task fits on a machine, by the last reports.
func (g *Global) match() {
	var seen *job // that was matched last
	at, spare := g.places[0], g.places[1]
	defer func() { g.places = [2][]place{at, spare} }()
	fits := func(u *user) bool {
		for {
			l := u.next(g.gains)
			if l == nil {
				return false
			}
			if spare = g.search(l.jobs[0], spare[:0]); len(spare) > 0 {
				at, spare, seen = spare, at, l.jobs[0]
				return true
			}
			l.tried = g.gains
		}
	}
	for {
		u, ok := g.order.pick(fits)
		if !ok {
			return
		}
		if seen == nil || seen.user != u { // another user came after it in the search
			if seen = nil; !fits(u) {
				return
			}
		}
		g.launch(seen, at)
		seen = nil
		g.order.demand(u)
	}
}

// search returns places for the next task of a job, or for all waiting tasks of a gang.
// It returns nothing if there is no room, and takes no room.
//
// It searches the own partitions first, then the others. Each search begins at the
// site after the last one that had room.
func (g *Global) search(j *job, at []place) []place {
	if j.Gang {
		return g.searchGang(j, at)
	}
	n := len(g.sites)
	for i := range n {
		s := g.sites[(g.internal+i)%n]
		if node, ok := g.find(s, j.class, true); ok {
			return append(at, place{s, node, false})
		}
	}
	for i := range n {
		s := g.sites[(g.external+i)%n]
		if node, ok := g.find(s, j.class, false); ok {
			return append(at, place{s, node, true})
		}
	}
	return at
}

// find returns a machine of one site.
func (g *Global) find(s *site, c *class, internal bool) (node int, ok bool) {
	if s.unlisted() || s.silent {
		return 0, false
	}
	if _, barred := s.barred[c]; barred {
		return 0, false
	}
	p, start := s.part(internal), 0
	switch {
	case internal || len(s.machines) == 0:
	case s.recent < len(s.rooms) && resources.Fits(&c.need, &s.rooms[s.recent]):
		start = s.recent // the least likely to be taken meanwhile
	case g.cfg.Rand != nil:
		start = g.cfg.Rand.IntN(len(s.machines))
	}
	var mask []uint64
	if c.where != nil {
		g.mask = c.where[s.index].Words(g.mask)
		mask = g.mask
	}
	return p.find(s.rooms, &c.need, mask, start)
}

// searchGang returns places for all tasks of a gang that wait, at one site: that of the
// others, if there are any. The room is set aside while it searches.
func (g *Global) searchGang(j *job, at []place) []place {
	n, first := len(g.sites), g.internal
	if s, ok := j.home(); ok {
		n, first = 1, int(s)
	}
	for i := range n {
		s := g.sites[(first+i)%len(g.sites)]
		for range j.waiting {
			node, ok := g.find(s, j.class, true)
			if !ok {
				if node, ok = g.find(s, j.class, false); !ok {
					break
				}
			}
			at = append(at, place{s, node, !s.machines[node].Internal})
			s.take(node, &j.Need)
		}
		for k := len(at) - 1; k >= 0; k-- {
			s.untake(at[k].machine, &j.Need)
		}
		if len(at) == len(j.waiting) {
			return at
		}
		at = at[:0]
	}
	return at
}

// take sets room aside for a launch.
func (s *site) take(n int, need *resources.Vector) {
	m := &s.machines[n]
	m.sent = m.sent.Add(*need)
	s.refresh(n)
}

// untake gives it back, and tells whether there is more room.
func (s *site) untake(n int, need *resources.Vector) (more bool) {
	m := &s.machines[n]
	lower(&m.sent, need)
	return s.refresh(n)
}

// lower subtracts by from v, down to 0.
func lower(v, by *resources.Vector) {
	for k := range v {
		v[k] = max(v[k]-by[k], 0)
	}
}
