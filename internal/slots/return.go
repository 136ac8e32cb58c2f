package slots

// maxReturnLooks is how many tasks, and kids of groups, are looked at to bring a task back to
// its former place. It is enough for exchanges of two or three, which most are. With
// twice as many it brings back hardly more, and takes half as long again.
const maxReturnLooks = 16

// Stay gives t a place at leaf again, after Solve gave it another one, if that costs
// nothing. T must have an option there that is as good, and so must each of the tasks
// that then have to make room for one another. Of those only tasks move for which free is
// true. It reports whether t has the place. Only arcs of reduced cost 0 are used, so that
// the cost stays the least. Cost: O(options) of t and of [backLooks] others at most,
// beyond which the search is given up.
func (n *Net) Stay(t int32, leaf Loc, free func(t int32) bool) bool {
	from := n.cur[t].at
	if from == leaf {
		return false
	}
	opts := n.optionsOf(t)
	for i := range opts {
		o := &opts[i]
		if o.at != leaf {
			continue
		}
		cost := o.cost(n.now)
		if cost+n.price[leaf] != n.cur[t].cost+n.price[from] || !n.returnPath(t, leaf, from, free) {
			return false
		}
		n.move(step{from, leaf, t, cost})
		b := &n.returns
		for at := len(b.steps) - 1; at > 0; at = b.before[at] {
			n.move(b.steps[at])
		}
		return true
	}
	return false
}

// returnSearch is scratch of returnPath: the arcs by which locations were reached, and which
// of them came before.
type returnSearch struct {
	steps  []step
	before []int
	looks  int
}

// reach notes that st leads to a location that was not reached before.
func (b *returnSearch) reach(before int, st step) {
	for _, known := range b.steps {
		if known.to == st.to {
			return
		}
	}
	b.steps, b.before = append(b.steps, st), append(b.before, before)
}

// returnPath finds arcs by which a unit can go from leaf, which t takes, to where t
// comes from: breadth first, so that few tasks move. The last step is the last arc.
func (n *Net) returnPath(t int32, leaf, to Loc, free func(t int32) bool) bool {
	b := &n.returns
	b.steps, b.before, b.looks = b.steps[:0], b.before[:0], 0
	b.reach(0, step{to: leaf})
	for at := 0; at < len(b.steps) && b.looks < maxReturnLooks; at++ {
		n.expandReturn(at, t, to, free)
		if last := len(b.steps) - 1; b.steps[last].to == to {
			return true
		}
	}
	return false
}

// expandReturn reaches what a unit can go to from a location, up to the one it is to get
// to.
func (n *Net) expandReturn(at int, t int32, to Loc, free func(t int32) bool) {
	b, v := &n.returns, n.returns.steps[at].to
	price := n.price[v]
	lead := func(st step) bool {
		b.looks++
		if n.price[st.to] == price {
			b.reach(at, st)
		}
		return b.steps[len(b.steps)-1].to == to || b.looks >= maxReturnLooks
	}
	if v == Sink {
		if w := n.leafBelow(to); n.locs[w].leaf && n.locs[w].out > 0 {
			lead(step{v, w, none, 0})
		}
		return
	}
	l := &n.locs[v]
	if l.leaf && l.out < l.capacity && lead(step{v, Sink, none, 0}) {
		return
	}
	if l.down > 0 && lead(step{v, l.parent, none, 0}) {
		return
	}
	for i := range l.here {
		other := l.here[i].task
		b.looks++
		if other == t || !free(other) {
			continue
		}
		opts := n.optionsOf(other)
		for i := range opts {
			o := &opts[i]
			if cost := o.cost(n.now); o.at != v && cost+n.price[o.at] == n.cur[other].cost+price {
				st := step{v, o.at, other, cost}
				b.reach(at, st)
				if o.at == to {
					return
				}
			}
		}
		if b.looks >= maxReturnLooks {
			return
		}
	}
	for _, k := range n.kids[v] {
		if lead(step{v, k, none, 0}) {
			return
		}
	}
}
