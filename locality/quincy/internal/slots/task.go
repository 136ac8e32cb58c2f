package slots

// Option is a location that a task may sit at, for Base + Slope × now.
type Option struct {
	Base  int64
	Slope int32
	At    Loc
}

type task struct {
	first, n int32 // its options in the arena; n is 0 for a free number
}

// option is an Option, in 16 bytes: memory is what searches wait for.
type option struct {
	base  int64
	slope int32
	at    Loc
}

func (o *option) cost(now int64) int64 { return o.base + int64(o.slope)*now }

// arena holds the options of all tasks, each task's together.
type arena struct {
	all  []option
	refs []int32   // by option: where its location keeps it
	free [][]int32 // by length
}

func (a *arena) take(n int) int32 {
	if n < len(a.free) && len(a.free[n]) > 0 {
		l := len(a.free[n]) - 1
		at := a.free[n][l]
		a.free[n] = a.free[n][:l]
		return at
	}
	at := len(a.all)
	for range n {
		a.all = append(a.all, option{})
		a.refs = append(a.refs, 0)
	}
	return int32(at)
}

func (a *arena) give(first, n int32) {
	for len(a.free) <= int(n) {
		a.free = append(a.free, nil)
	}
	a.free[n] = append(a.free[n], first)
}

func (n *Net) optionsOf(t int32) []option {
	k := n.tasks[t]
	return n.options.all[k.first : k.first+k.n]
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
		n.tasks = append(n.tasks, task{})
		n.cur = append(n.cur, place{})
		n.limits.noted = append(n.limits.noted, limit{})
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

// SetOptions replaces the options of t.
func (n *Net) SetOptions(t int32, options []Option) {
	at := n.cur[t].at
	n.detach(t)
	n.attach(t, options)
	if at == none {
		return
	}
	for _, o := range options {
		if o.At == at {
			n.cur[t].cost = o.Base + int64(o.Slope)*n.now
			n.changed = append(n.changed, t)
			return
		}
	}
	n.dirty = append(n.dirty, at)
	n.leave(t)
	n.rest(t)
}

func (n *Net) attach(t int32, options []Option) {
	first := n.options.take(len(options))
	n.tasks[t] = task{first: first, n: int32(len(options))}
	for i, o := range options {
		l := &n.locs[o.At]
		n.options.all[int(first)+i] = option{base: o.Base, slope: o.Slope, at: o.At}
		n.options.refs[int(first)+i] = int32(len(l.refs))
		l.refs = append(l.refs, ref{base: o.Base, slope: o.Slope, task: t})
		if o.Slope != 0 {
			n.drifts++
		}
	}
}

func (n *Net) detach(t int32) {
	k := n.tasks[t]
	for i := k.first; i < k.first+k.n; i++ {
		at := n.options.all[i].at
		l := &n.locs[at]
		last := len(l.refs) - 1
		if pos := n.options.refs[i]; int(pos) != last {
			moved := l.refs[last]
			l.refs[pos] = moved
			for j, o := range n.optionsOf(moved.task) {
				if o.at == at {
					n.options.refs[int(n.tasks[moved.task].first)+j] = pos
				}
			}
		}
		l.refs = l.refs[:last]
		if n.options.all[i].slope != 0 {
			n.drifts--
		}
	}
	n.options.give(k.first, k.n)
}

// rest puts t, which sits nowhere, among the idle.
func (n *Net) rest(t int32) {
	n.cur[t] = place{at: none, pos: int32(len(n.idle))}
	n.idle = append(n.idle, t)
}

// sit puts t, which sits nowhere and is not among the idle, at v.
func (n *Net) sit(t int32, v Loc, cost int64) {
	l := &n.locs[v]
	n.cur[t] = place{cost: cost, at: v, pos: int32(len(l.here))}
	l.here = append(l.here, t)
	n.gain(v, 1)
	n.limits.drop(t)
	n.touched = append(n.touched, t)
}

// leave takes t from where it sits.
func (n *Net) leave(t int32) {
	p := n.cur[t]
	l := &n.locs[p.at]
	last := len(l.here) - 1
	moved := l.here[last]
	l.here[p.pos] = moved
	n.cur[moved].pos = p.pos
	l.here = l.here[:last]
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
	for _, r := range n.locs[v].refs {
		yield(r.task)
	}
}

// Options appends the options of t to dst.
func (n *Net) Options(dst []Option, t int32) []Option {
	for _, o := range n.optionsOf(t) {
		dst = append(dst, Option{Base: o.base, Slope: o.slope, At: o.at})
	}
	return dst
}
