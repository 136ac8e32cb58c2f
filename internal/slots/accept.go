package slots

// accept takes over the places and prices of an auction. Places that are not the
// cheapest of their tasks at these prices are for adjust.
func (n *Net) accept(a *auction) {
	for t := range n.tasks {
		if n.cur[t].at != none && n.tasks[t].n != 0 {
			n.leave(int32(t))
			n.rest(int32(t))
		}
	}
	prices := a.prices()
	for v := range n.locs {
		l := &n.locs[v]
		if l.parent != none {
			more := a.lots[v].down - l.down
			l.down += more
			n.gain(Loc(v), int64(more))
			n.gain(l.parent, -int64(more))
		}
		// Prices end a few steps above or below what is a difference of costs.
		n.price[v] = floorDiv(prices[v]+fraction/2, fraction)
	}
	n.measure()
	for i := len(n.idle) - 1; i >= 0; i-- {
		t := n.idle[i]
		v := a.at[t]
		if v == none {
			continue
		}
		opts := n.optionsOf(t)
		for k := range opts {
			if o := &opts[k]; o.at == v {
				n.take(t, v, o.cost(n.now))
				break
			}
		}
	}
}

// prices returns the prices of an accepted auction. Two sets of prices prove as much. The
// higher ones are those of the auction, at which some task of each location is about to
// leave. The lower ones are the least at which none wants to come. The result is the
// middle, where there is room for costs to change.
func (a *auction) prices() []int64 {
	n := a.net
	low, high := make([]int64, len(a.lots)), make([]int64, len(a.lots))
	most := int64(0)
	for v := range a.lots {
		high[v] = a.price(Loc(v))
		if low[v] = min(0, high[v]); high[v] < unsellable {
			most = max(most, high[v])
		}
		if q := &a.lots[v]; q.kids == 0 && q.used <= q.keeps {
			low[v] = high[v] // it may be worth less than nothing
		}
	}
	for v := range high {
		high[v] = min(high[v], most) // where there is no unit for any price
		low[v] = min(low[v], high[v])
	}
	for t, at := range a.at {
		if at == none || n.tasks[t].n == 0 {
			continue
		}
		opts := n.optionsOf(int32(t))
		pays := never
		for i := range opts {
			if o := &opts[i]; o.at == at {
				pays = o.cost(n.now)*fraction + high[at]
			}
		}
		for i := range opts {
			if o := &opts[i]; o.at != at {
				low[o.at] = max(low[o.at], min(pays-o.cost(n.now)*fraction, high[o.at]))
			}
		}
		n.work.spend(len(opts))
	}
	// A group is as dear as what it has units of, and no dearer than all below it.
	for range a.depth() {
		for v := range a.lots {
			if q := &a.lots[v]; q.down > 0 {
				low[q.parent] = max(low[q.parent], low[v])
			}
		}
	}
	for range a.depth() {
		for v := range a.lots {
			if q := &a.lots[v]; q.parent != none {
				low[v] = max(low[v], low[q.parent])
			}
		}
	}
	for v := range low {
		low[v] += (high[v] - low[v]) / 2
	}
	low[Sink] = 0
	return low
}

// depth returns how many groups are above a leaf, at most.
func (a *auction) depth() int {
	most := 0
	for v := range a.lots {
		d := 0
		for p := a.lots[v].parent; p != none; p = a.lots[p].parent {
			d++
		}
		most = max(most, d)
	}
	return most
}

// floorDiv returns a / b, rounded down.
func floorDiv(a, b int64) int64 {
	if a < 0 {
		return -((b - 1 - a) / b)
	}
	return a / b
}
