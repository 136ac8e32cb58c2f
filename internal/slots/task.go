package slots

type task struct {
	first, n int32 // its options in the arena; n is 0 for a free number
	drift    int32 // by how much its cost grows with time where it sits; see elapse
}

// Add adds a task that may sit at any of the options, one at least, each of which leads to
// another location. It has no place before the next Solve.
func (n *Net) Add(options []Option) int32 {
	var t int32
	if l := len(n.unused); l > 0 {
		t = n.unused[l-1]
		n.unused = n.unused[:l-1]
	} else {
		t = int32(len(n.tasks))
		n.tasks = append(doubled(n.tasks, 1), task{})
		n.cur = append(doubled(n.cur, 1), place{})
	}
	n.attach(t, options)
	n.rest(t)
	n.live++
	n.gain(Sink, -1)
	return t
}

// Remove takes t away.
func (n *Net) Remove(t int32) {
	if at := n.cur[t].at; at != none {
		n.dirty = append(n.dirty, at)
		n.leave(t)
		n.rest(t)
	}
	last := len(n.idle) - 1
	moved := n.idle[last]
	n.idle[n.cur[t].pos] = moved
	n.cur[moved].pos = n.cur[t].pos
	n.idle = n.idle[:last]
	n.detach(t)
	n.tasks[t].n = 0
	n.cur[t].at = none
	n.unused = append(n.unused, t)
	n.live--
	n.gain(Sink, 1)
}

// SetOptions replaces the options of t. Cost: O(options of t); what stays as it is
// takes next to nothing.
func (n *Net) SetOptions(t int32, options []Option) {
	at := n.cur[t].at
	n.replace(t, options)
	if at == none {
		return
	}
	for _, o := range options {
		if o.At == at {
			n.charge(t, o.Base+int64(o.Slope)*n.now)
			n.recheck(t)
			return
		}
	}
	n.dirty = append(n.dirty, at)
	n.leave(t)
	n.rest(t)
}

// recheck lets the next Solve look at t, with other options than before, unless it is as well
// off there as it can be. Here the options are at hand, in Solve they would be read from
// memory again, after a first plan those of all tasks.
func (n *Net) recheck(t int32) {
	p := n.cur[t]
	opts := n.optionsOf(t)
	for i := range opts {
		if o := &opts[i]; n.stale || o.cost(n.now)+n.price[o.at] < p.cost+n.price[p.at] {
			n.changed = append(n.changed, t)
			return
		}
	}
	n.tasks[t].drift = drift(opts, p.at)
}

// rest puts t, which sits nowhere, among the idle.
func (n *Net) rest(t int32) {
	n.cur[t] = place{at: none, pos: int32(len(n.idle))}
	n.idle = append(doubled(n.idle, 1), t)
}

// place puts t, which sits nowhere and is not among the idle, at v.
func (n *Net) place(t int32, v Loc, cost int64) {
	l := &n.locs[v]
	n.cur[t] = place{cost: cost, at: v, pos: int32(len(l.here))}
	n.total.add(cost)
	l.here = append(l.here, seat{task: t})
	n.gain(v, 1)
	n.touched = append(n.touched, t)
}

// leave takes t from where it sits.
func (n *Net) leave(t int32) {
	p := n.cur[t]
	l := &n.locs[p.at]
	last := len(l.here) - 1
	moved := l.here[last]
	l.here[p.pos] = moved
	n.cur[moved.task].pos = p.pos
	l.here = l.here[:last]
	n.tasks[t].drift = unsure
	n.total.sub(p.cost)
	n.gain(p.at, -1)
}

// At returns where t sits, and at what cost; false if it has no place.
func (n *Net) At(t int32) (Loc, int64, bool) {
	p := n.cur[t]
	return p.at, p.cost, p.at != none
}

// Leading calls yield with each task that has an option at v; the net must not
// change meanwhile.
func (n *Net) Leading(v Loc, yield func(t int32)) {
	for _, r := range n.refs[v] {
		yield(r.task)
	}
}
