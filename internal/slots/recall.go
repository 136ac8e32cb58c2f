package slots

import (
	"cmp"
	"slices"
)

// recall lowers the price of a leaf at the top that has too few tasks, until enough of
// them would be as well off there, and seats these. It is the counterpart of evict: where
// the share of a job falls, this is one pass over the tasks of the job. The alternative is
// a search for each price at which a task comes.
func (n *Net) recall(v Loc) {
	l := &n.locs[v]
	if !l.leaf || l.parent != none || l.excess >= 0 {
		return
	}
	price, sink := n.price[v], n.price[Sink]
	for _, c := range n.comers(v, int(-l.excess)) {
		if c.price < sink && price >= sink {
			// Below the price of the sink the leaf passes nothing on: these units are
			// the first that it keeps.
			price = sink
			n.pass(v, -int32(min(int64(l.out), -l.excess)))
		}
		if l.excess == 0 {
			break
		}
		price = min(price, c.price)
		if at := n.cur[c.task].at; at != none {
			n.dirty = append(n.dirty, at)
			n.leave(c.task)
			n.rest(c.task)
		}
		n.take(c.task, v, c.cost)
	}
	fall := n.price[v] - price
	n.price[v] = price
	n.moved(fall)
}

// comer is a task that would come to a leaf from a price downwards, and what it costs
// there.
type comer struct {
	price, cost int64
	task        int32
}

// comers returns so many of the tasks that have an option at v and sit elsewhere or
// nowhere: the first that would come, in this order. Of those that would come at once the
// last to be added is the first.
func (n *Net) comers(v Loc, most int) []comer {
	all := n.comerPool[:0]
	first := func() {
		slices.SortFunc(all, func(a, b comer) int {
			return cmp.Or(cmp.Compare(b.price, a.price), cmp.Compare(b.task, a.task))
		})
		all = all[:min(len(all), most)]
	}
	least := -never // what comes for less is not among the first
	for i := range n.refs[v] {
		r := &n.refs[v][i]
		p := &n.cur[r.task]
		if p.at == v {
			continue
		}
		c := comer{cost: r.base + int64(r.slope)*n.now, task: r.task}
		if p.at != none {
			c.price = p.cost + n.price[p.at] - c.cost
		} else {
			c.price = n.leastBut(r.task, v) - c.cost
		}
		if c.price < least {
			continue
		}
		if all = append(all, c); len(all) == 2*most+batch {
			first()
			least = all[most-1].price
		}
	}
	first()
	n.work.used += int64(len(n.refs[v]))
	n.comerPool = all
	return all
}

// leastBut returns the cost from t to the sink, over its cheapest option that does not
// lead to v; never if there is none.
func (n *Net) leastBut(t int32, v Loc) int64 {
	least := never
	opts := n.optionsOf(t)
	for i := range opts {
		if o := &opts[i]; o.at != v {
			least = min(least, o.cost(n.now)+n.price[o.at])
		}
	}
	n.work.used += int64(len(opts))
	return least
}
