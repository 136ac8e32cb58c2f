package slots

import "slices"

// evict raises the price of a leaf that has more than it can pass on, until enough of its
// tasks would be as well off elsewhere. It sends these away. When a machine loses many
// slots, this is one pass over its tasks. The alternative is a search for each price at
// which a task leaves.
func (n *Net) evict(v Loc) {
	l := &n.locs[v]
	if !l.leaf || l.excess <= 0 || l.down > 0 || l.out < l.capacity {
		return
	}
	limits := n.pool[:0]
	for i := range l.here {
		if limit := n.limit(l.here[i].task); limit < never {
			limits = append(limits, limit)
		}
	}
	n.pool = limits
	n.work.used += int64(len(l.here))
	if len(limits) == 0 {
		return
	}
	slices.Sort(limits)
	rise := max(0, limits[min(int(l.excess), len(limits))-1]-n.price[v])
	n.price[v] += rise
	n.moved(rise)
	for _, tied := range []bool{false, true} {
		for i := len(l.here) - 1; i >= 0 && l.excess > 0; i-- {
			t := l.here[i].task
			if limit := n.limit(t); limit < n.price[v] || tied && limit == n.price[v] {
				n.leave(t)
				n.rest(t)
			}
		}
	}
}
