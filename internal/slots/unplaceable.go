package slots

// Unplaceable returns the reach of the units that can never have a place, after a Solve that
// found no solution. It is the tasks that could give way, and the locations, in ascending
// order.
//
// By the max-flow min-cut theorem these locations cannot hold these tasks. If the sink is
// among them, the other tasks are too few for the units that leaves elsewhere keep. The
// result is empty if the solver stopped before it came to that. Cost: O(options).
func (n *Net) Unplaceable() (tasks []int32, locs []Loc) {
	saved, f := n.saved(), flood{net: n, locs: make([]bool, len(n.locs)), tasks: make([]bool, len(n.tasks))}
	for _, t := range n.idle {
		lost := true
		for _, o := range n.optionsOf(t) {
			lost = lost && !saved[o.at]
		}
		if lost {
			f.task(t)
		}
	}
	for v := range n.locs {
		if n.locs[v].excess > 0 && !saved[v] {
			f.loc(Loc(v))
		}
	}
	for ; len(f.queue) > 0; f.queue = f.queue[1:] {
		f.leave(f.queue[0])
	}
	for t, in := range f.tasks {
		if in {
			tasks = append(tasks, int32(t))
		}
	}
	for v, in := range f.locs {
		if in {
			locs = append(locs, Loc(v))
		}
	}
	return tasks, locs
}

// flood is a search of all that units get to.
type flood struct {
	net   *Net
	locs  []bool
	tasks []bool
	queue []Loc
}

func (f *flood) loc(v Loc) {
	if v != none && !f.locs[v] {
		f.locs[v] = true
		f.queue = append(f.queue, v)
	}
}

func (f *flood) task(t int32) {
	f.tasks[t] = true
	for _, o := range f.net.optionsOf(t) {
		f.loc(o.at)
	}
}

// leave follows all arcs by which a unit can leave v.
func (f *flood) leave(v Loc) {
	l := &f.net.locs[v]
	for i := range l.here {
		f.task(l.here[i].task)
	}
	for _, k := range f.net.kids[v] {
		f.loc(k)
	}
	if l.down > 0 {
		f.loc(l.parent)
	}
	if l.leaf && l.out < l.capacity {
		f.loc(Sink)
	}
	if v == Sink {
		for w := range f.net.locs {
			if f.net.locs[w].out > 0 {
				f.loc(Loc(w))
			}
		}
	}
}

// saved returns the locations from which a unit can get to one in need.
func (n *Net) saved() []bool {
	f := flood{net: n, locs: make([]bool, len(n.locs))}
	for v := range n.locs {
		if n.locs[v].excess < 0 {
			f.loc(Loc(v))
		}
	}
	for ; len(f.queue) > 0; f.queue = f.queue[1:] {
		v := f.queue[0]
		l := &n.locs[v]
		f.loc(l.parent)
		for _, k := range n.kids[v] {
			if n.locs[k].down > 0 {
				f.loc(k)
			}
		}
		if l.out > 0 {
			f.loc(Sink)
		}
		for i := range n.refs[v] {
			f.loc(n.cur[n.refs[v][i].task].at)
		}
		if v == Sink {
			for w := range n.locs {
				if k := &n.locs[w]; k.leaf && k.out < k.capacity {
					f.loc(Loc(w))
				}
			}
		}
	}
	return f.locs
}
