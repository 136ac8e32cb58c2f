package slots

// adjust takes tasks from places that are no longer their cheapest, and balances
// locations: where something has changed or, if prices are stale, everywhere. It
// reports whether it could finish; if not it is to be called again.
func (n *Net) adjust() bool {
	if n.stale {
		for t := range n.tasks {
			n.reprice(int32(t))
			if !n.work.spend(int(n.tasks[t].n)) {
				return false
			}
		}
		n.dirty = n.dirty[:0]
		for i := range n.locs {
			n.dirty = append(n.dirty, Loc(i))
		}
	} else {
		for _, t := range n.changed {
			n.reprice(t)
			if !n.work.spend(int(n.tasks[t].n)) {
				n.stale = true
				return false
			}
		}
	}
	n.stale = false
	n.changed = n.changed[:0]
	for _, v := range n.dirty {
		if n.locs[v].leaf {
			n.settle(v)
			n.evict(v)
		} else if n.locs[v].excess < 0 {
			n.refill(v)
		}
	}
	for _, v := range n.dirty { // not those that this adds: tasks might come and go for ever
		n.recall(v)
	}
	return true
}

// reprice looks up what t costs now.
func (n *Net) reprice(t int32) {
	p := &n.cur[t]
	if n.tasks[t].n == 0 || p.at == none {
		return
	}
	best, cost := n.price[p.at]+p.cost, p.cost
	first := true
	opts := n.optionsOf(t)
	for i := range opts {
		c := opts[i].cost(n.now)
		if opts[i].at == p.at {
			cost = c
		}
		if sum := c + n.price[opts[i].at]; first || sum < best {
			best, first = sum, false
		}
	}
	n.charge(t, cost)
	n.tasks[t].drift = drift(opts, p.at)
	if cost+n.price[p.at] > best {
		n.dirty = append(n.dirty, p.at)
		n.leave(t)
		n.rest(t)
	}
}

// refill balances a group in need by taking back units that it sent to kids
// which can do without them, as the sink is no dearer.
func (n *Net) refill(v Loc) {
	l := &n.locs[v]
	if v == Sink || n.price[v] != n.price[Sink] {
		return
	}
	for _, k := range n.kids[v] {
		kid := &n.locs[k]
		back := int32(min(int64(kid.down), -l.excess))
		if back > 0 {
			kid.down -= back
			n.gain(k, -int64(back))
			n.gain(v, int64(back))
			if kid.leaf {
				n.settle(k)
			} else {
				n.refill(k)
			}
		}
		if l.excess == 0 {
			return
		}
	}
}
