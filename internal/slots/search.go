package slots

import "math"

// search is the state of one search and of the pushes after it.
type search struct {
	queue
	label []label // by location
	reach []int64 // by task without a place: how far it is, if round says so
	round []int32
	epoch int32
	alone bool  // tasks without a place do not take part
	order []Loc // as they were settled
	late  []Loc // groups at the current distance with tasks to be looked at
	path  []step
	from  []step // by location, in a search forwards: the arc that led there
}

// label is the result of a search for a location.
type label struct {
	dist  int64
	seen  int32 // epoch
	rank  int32 // in the order; unranked if not settled, or a dead end since
	next  int32 // the arc to look at next
	fresh int32 // epoch in which rank and next are valid
}

const unranked = math.MaxInt32

// begin forgets what the last search found.
func (n *Net) begin() {
	s := &n.search
	s.label = grown(s.label, len(n.locs))
	s.from = grown(s.from, len(n.locs))
	if s.epoch == math.MaxInt32 {
		s.epoch = 0
		clear(s.label)
		clear(s.round)
	}
	s.epoch++
	s.reset()
	s.order = s.order[:0]
	s.late = s.late[:0]
}

func grown[T any](s []T, size int) []T {
	if more := size - len(s); more > 0 {
		return append(s, make([]T, more)...)
	}
	return s
}

func (s *search) rankOf(v Loc) int32 {
	if l := &s.label[v]; l.fresh == s.epoch {
		return l.rank
	}
	return unranked
}

func (s *search) relax(v Loc, d int64) {
	l := &s.label[v]
	if l.seen == s.epoch && l.dist <= d {
		return
	}
	l.seen, l.dist = s.epoch, d
	s.add(v, d)
}

func (s *search) relaxTask(t int32, d int64) {
	if s.round[t] == s.epoch && s.reach[t] <= d {
		return
	}
	s.round[t], s.reach[t] = s.epoch, d
	s.add(^t, d)
}

// shorten finds the shortest path from every unit without a place to a location
// in need, and changes prices so that the arcs of these paths have reduced cost
// 0. It returns how many sources it reached; those are tasks without a place,
// and locations with an excess.
func (n *Net) shorten() (reached int) {
	s := &n.search
	n.begin()
	s.alone = false
	s.round = grown(s.round, len(n.tasks))
	s.reach = grown(s.reach, len(n.tasks))
	sources := len(n.idle)
	for _, t := range n.idle {
		n.cur[t].cost = n.least(t)
	}
	for v := range n.locs {
		switch e := n.locs[v].excess; {
		case e < 0:
			s.relax(Loc(v), 0)
		case e > 0:
			sources++
		}
	}
	for reached < sources {
		id, ok := s.next()
		if !ok {
			break
		}
		if id < 0 {
			if t := ^id; s.round[t] == s.epoch && s.reach[t] == s.dist {
				s.reach[t] = -1 // once
				reached++
			}
			continue
		}
		if !s.settle(id) {
			continue
		}
		if n.locs[id].excess > 0 {
			reached++
		}
		n.scan(id, s.dist)
		if !n.work.spend(1) {
			break
		}
	}
	n.cheapen()
	return reached
}

// scanLate looks at the tasks of a group, once there is nothing else at the
// current distance, and reports whether there was one.
func (n *Net) scanLate() bool {
	s := &n.search
	last := len(s.late) - 1
	if last < 0 || s.head < len(s.line) {
		return false
	}
	v := s.late[last]
	s.late = s.late[:last]
	n.scanTasks(v, s.dist)
	return true
}

// settle notes that v has its final distance; false if it had it before.
func (s *search) settle(v Loc) bool {
	l := &s.label[v]
	if l.fresh == s.epoch {
		return false
	}
	l.fresh, l.rank, l.next = s.epoch, int32(len(s.order)), 0
	s.order = append(s.order, v)
	return true
}

// cheapen lowers prices so that the shortest paths from where the search is to
// where it began have reduced cost 0.
func (n *Net) cheapen() {
	s := &n.search
	for _, v := range s.order {
		n.price[v] -= s.dist - s.label[v].dist
	}
	n.lowerLimits(s.dist)
	n.moved(s.dist)
}

// least returns the cost from t to the sink, over its cheapest option.
func (n *Net) least(t int32) int64 {
	best := int64(math.MaxInt64)
	opts := n.optionsOf(t)
	for i := range opts {
		best = min(best, opts[i].cost(n.now)+n.price[opts[i].at])
	}
	return best
}

// scan looks at all arcs with room that end in v, which is d away from need. Where one
// unit is wanted, the tasks that could come to a group are left for later. There may be
// thousands, and none is of use if one of the kids is.
func (n *Net) scan(v Loc, d int64) {
	s := &n.search
	l := &n.locs[v]
	there := n.price[v] + d
	if v == Sink {
		for i := range n.locs {
			if u := &n.locs[i]; u.out < u.capacity {
				s.relax(Loc(i), there-n.price[i])
			}
		}
		return
	}
	if l.out > 0 {
		s.relax(Sink, there-n.price[Sink])
	}
	if l.parent != none {
		s.relax(l.parent, there-n.price[l.parent])
	}
	for _, k := range n.kids[v] {
		if n.locs[k].down > 0 {
			s.relax(k, d)
		}
	}
	if s.alone && !l.leaf {
		s.late = append(s.late, v)
		return
	}
	n.scanTasks(v, d)
}

// scanTasks looks at the tasks that could come to v. First all their places are
// read, then all that is known of these: reads from memory that do not wait for
// each other take a fraction of the time.
func (n *Net) scanTasks(v Loc, d int64) {
	s := &n.search
	n.work.used += int64(len(n.refs[v]))
	there := n.price[v] + d
	bound := int64(math.MaxInt64)
	if l := &s.label[Sink]; s.alone && l.seen == s.epoch {
		bound = l.dist // no farther is of use
	}
	var at [batch]Loc
	var far [batch]int64
	for refs := n.refs[v]; len(refs) > 0; {
		part := refs[:min(batch, len(refs))]
		refs = refs[len(part):]
		for i := range part {
			r := &part[i]
			p := &n.cur[r.task]
			at[i], far[i] = p.at, r.base+int64(r.slope)*n.now+there-p.cost
		}
		for i := range part {
			u := at[i]
			switch {
			case u == v:
			case u != none:
				if d := far[i] - n.price[u]; d < bound {
					s.relax(u, d)
				}
			case !s.alone:
				s.relaxTask(part[i].task, far[i])
			}
		}
	}
}

const batch = 64
