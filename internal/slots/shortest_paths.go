package slots

import "slices"

// shortestPaths finds the shortest paths from the options of a task to its goal: the location
// where it sits, or the sink if it has no place. A unit that comes to any other location
// ends there.
//
// It searches from both ends at once, until no path is left that could be shorter than the
// one found. The search from the goal serves all options. It is for a goal that is hard
// to come to, such as waiting in a job of which as many tasks run as may. Forwards that
// is a search of everything. The other one is for options that everything leads to, such
// as the cluster. Next is the side on which fewer arcs have been looked at with that
// step. So together they look at twice as many as the better of them alone would, at
// most.
//
// The room of a leaf follows from the tasks that sit there, not from the flow. So a leaf
// that a task has left since Solve has room.
type shortestPaths struct {
	net      *Net
	now      int64
	task     int32
	from, to side // the option, the goal
	best     distance
	meet     Loc // where the best path so far has both sides; none if there is none
}

// distance is the sum of reduced costs, and how many tasks give way.
type distance struct {
	cost  int64
	tasks int32
}

func (d distance) less(e distance) bool {
	return d.cost < e.cost || d.cost == e.cost && d.tasks < e.tasks
}

func (d distance) plus(e distance) distance {
	return distance{min(d.cost+e.cost, never), d.tasks + e.tasks}
}

// hop is an arc: a task that goes from one location to another, which adds so
// much, or a unit that just does if the task is none.
type hop struct {
	from, to Loc
	task     int32
	cost     int64
}

func (w *shortestPaths) begin(n *Net, t int32, now int64) {
	w.net, w.task, w.now = n, t, now
	w.from.arcs, w.to.arcs = 0, 0
	w.to.begin(len(n.locs))
	w.to.reach(w.goal(), distance{}, hop{from: none, to: none})
}

func (w *shortestPaths) goal() Loc {
	if at := w.net.cur[w.task].at; at != none {
		return at
	}
	return Sink
}

// path finds the path from an option.
func (w *shortestPaths) path(o Option) Path {
	path := Path{Option: o, Leaf: none, Extra: o.Base + int64(o.Slope)*w.now}
	if at := w.net.cur[w.task].at; at != none {
		path.Extra -= w.costAt(w.task, at)
	}
	w.search(o.At)
	if w.meet == none {
		return path
	}
	path.Open = true
	at := o.At
	for _, h := range w.hops() {
		if path.Leaf == none && w.net.locs[h.from].leaf {
			path.Leaf = h.from
		}
		if last := len(path.Steps) - 1; last >= 0 && path.Steps[last].To == none && w.net.locs[h.from].leaf {
			path.Steps[last].To = h.from
		}
		if h.task != none {
			path.Steps = append(path.Steps, Step{Task: h.task, From: h.from, To: none, Extra: h.cost})
			path.Extra += h.cost
		}
		at = h.to
	}
	if path.Leaf == none {
		path.Leaf = at
	}
	if last := len(path.Steps) - 1; last >= 0 && path.Steps[last].To == none {
		path.Steps[last].To = at
	}
	return path
}

// search finds where the two sides of the shortest path meet.
func (w *shortestPaths) search(at Loc) {
	w.meet = none
	w.from.begin(len(w.net.locs))
	w.reach(&w.from, &w.to, at, distance{}, hop{from: none, to: none})
	for {
		u, there, ok := w.from.next()
		v, back, more := w.to.next()
		if !ok || !more || w.meet != none && !there.plus(back).less(w.best) {
			return
		}
		if forth, on := w.forwards(u), w.backwards(v); w.from.arcs+forth <= w.to.arcs+on {
			w.from.arcs += forth
			w.from.settle()
			w.leave(u)
		} else {
			w.to.arcs += on
			w.to.settle()
			w.enter(v)
		}
	}
}

// reach notes for a side that it gets to v, and whether it meets the other one
// there on the best path so far.
func (w *shortestPaths) reach(s, other *side, v Loc, far distance, h hop) {
	if !s.reach(v, far, h) {
		return
	}
	if p := &other.labels[v]; p.round == other.round {
		if sum := far.plus(p.far); w.meet == none || sum.less(w.best) || sum == w.best && v < w.meet {
			w.meet, w.best = v, sum
		}
	}
}

// hops returns the arcs of the best path.
func (w *shortestPaths) hops() (all []hop) {
	for v := w.meet; ; {
		h := w.from.labels[v].hop
		if h.from == none {
			break
		}
		all = append(all, h)
		v = h.from
	}
	slices.Reverse(all)
	for v := w.meet; ; {
		h := w.to.labels[v].hop
		if h.from == none {
			return all
		}
		all = append(all, h)
		v = h.to
	}
}

// forwards and backwards return how many arcs there are out of v and into v,
// about.
func (w *shortestPaths) forwards(v Loc) int64 {
	l := &w.net.locs[v]
	switch {
	case v == Sink:
		return int64(len(w.net.locs))
	case l.leaf:
		return 8 * int64(len(l.here))
	}
	return int64(len(w.net.kids[v]))
}

func (w *shortestPaths) backwards(v Loc) int64 {
	if v == Sink {
		return int64(len(w.net.locs))
	}
	return int64(len(w.net.refs[v]))
}

// leave looks at all arcs with room out of v.
func (w *shortestPaths) leave(v Loc) {
	n := w.net
	far := w.from.labels[v].far
	pass := func(h hop) { w.reach(&w.from, &w.to, h.to, far.plus(w.length(h)), h) }
	l := &n.locs[v]
	switch {
	case v == Sink:
		for i := range n.locs {
			if k := &n.locs[i]; k.leaf && len(k.here) > int(k.demand) {
				pass(hop{Sink, Loc(i), none, 0})
			}
		}
		return
	case !l.leaf:
		for _, k := range n.kids[v] {
			pass(hop{v, k, none, 0})
		}
		return
	case len(l.here) < int(l.demand)+int(l.capacity):
		pass(hop{v, Sink, none, 0})
	}
	for i := range l.here {
		t := l.here[i].task
		if t == w.task {
			continue
		}
		paid := w.costAt(t, v)
		for _, o := range n.optionsOf(t) {
			if o.at != v {
				pass(hop{v, o.at, t, o.cost(w.now) - paid})
			}
		}
	}
}

// enter looks at all arcs with room into v.
func (w *shortestPaths) enter(v Loc) {
	n := w.net
	far := w.to.labels[v].far
	pass := func(h hop) { w.reach(&w.to, &w.from, h.from, far.plus(w.length(h)), h) }
	if v == Sink {
		for i := range n.locs {
			if l := &n.locs[i]; l.leaf && len(l.here) < int(l.demand)+int(l.capacity) {
				pass(hop{Loc(i), v, none, 0})
			}
		}
		return
	}
	l := &n.locs[v]
	if l.leaf && len(l.here) > int(l.demand) {
		pass(hop{Sink, v, none, 0})
	}
	if l.parent != none {
		pass(hop{l.parent, v, none, 0})
	}
	for i := range n.refs[v] {
		r := &n.refs[v][i]
		if at := n.cur[r.task].at; at != none && at != v && r.task != w.task && n.locs[at].leaf {
			cost := r.base + int64(r.slope)*w.now
			pass(hop{at, v, r.task, cost - w.costAt(r.task, at)})
		}
	}
}

// length is how long an arc is. Reduced costs below 0, as there may be where costs
// have changed since Solve, count as 0, so that the search ends.
func (w *shortestPaths) length(h hop) distance {
	price := w.net.price
	d := distance{cost: min(max(0, h.cost+price[h.to]-price[h.from]), never)}
	if h.task != none {
		d.tasks = 1
	}
	return d
}

// costAt returns what it costs now that t sits at v.
func (w *shortestPaths) costAt(t int32, v Loc) int64 {
	if p := &w.net.cur[t]; p.at == v && w.now == w.net.now {
		return p.cost
	}
	for _, o := range w.net.optionsOf(t) {
		if o.at == v {
			return o.cost(w.now)
		}
	}
	return w.net.cur[t].cost
}
