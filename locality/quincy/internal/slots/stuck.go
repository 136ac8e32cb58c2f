package slots

// Stuck returns, after a Solve that found no solution, all that the units
// without a place can get to: tasks that could give way and locations, in
// ascending order. By the max-flow min-cut theorem these locations cannot hold
// these tasks, and what is missing elsewhere cannot come from here; of all such
// sets it is the smallest, whichever tasks were left without a place. Cost:
// O(options).
func (n *Net) Stuck() (tasks []int32, locs []Loc) {
	task, seen := make([]bool, len(n.tasks)), make([]bool, len(n.locs))
	var queue []Loc
	reach := func(v Loc) {
		if v != none && !seen[v] {
			seen[v] = true
			queue = append(queue, v)
		}
	}
	leave := func(t int32) {
		task[t] = true
		for _, o := range n.optionsOf(t) {
			reach(o.at)
		}
	}
	for _, t := range n.idle {
		leave(t)
	}
	for v := range n.locs {
		if n.locs[v].excess > 0 {
			reach(Loc(v))
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		v := queue[0]
		l := &n.locs[v]
		for _, t := range l.here {
			leave(t)
		}
		for _, k := range l.kids {
			reach(k)
		}
		if l.down > 0 {
			reach(l.parent)
		}
		if l.leaf && l.out < l.capacity {
			reach(Sink)
		}
		if v == Sink {
			for w := range n.locs {
				if n.locs[w].out > 0 {
					reach(Loc(w))
				}
			}
		}
	}
	for t, in := range task {
		if in {
			tasks = append(tasks, int32(t))
		}
	}
	for v, in := range seen {
		if in {
			locs = append(locs, Loc(v))
		}
	}
	return tasks, locs
}
