package slots

import (
	"cmp"
	"slices"
)

// warmPrices sets prices from which Solve starts where an auction leaves many tasks
// without a place: where they are indifferent among nearly all slots, and too many want one.
//
// Any prices will do that are the same for groups and all below them, in any placement.
// These are the prices of a world in which all slots are alike, so that only the set of
// waiting tasks is to be decided:
//
//  1. A leaf at the top is where the tasks of one job wait. A task would pay for a slot
//     the cost of waiting less that of its cheapest place.
//  2. Of each job only as many tasks are asked as may have a slot at once, those that pay
//     the most.
//  3. If that is more than there are slots, the slots' price is the payment of the last
//     task that gets one.
//  4. Each job's price of waiting then makes as many wait as must.
func (n *Net) warmPrices() bool {
	n.stale = true // even if this does not come to the end
	var slots int64
	bids, pool := make([][]int64, len(n.locs)), n.pool[:0]
	for i := range n.locs {
		if l := &n.locs[i]; l.leaf && l.parent != none {
			slots += int64(l.capacity) + int64(l.demand)
		}
	}
	for t := range n.tasks {
		n.bid(int32(t), bids)
		if !n.work.spend(int(n.tasks[t].n)) {
			return false
		}
	}
	for v, all := range bids {
		if !n.work.spend(len(all)) {
			return false
		}
		slices.SortFunc(all, func(a, b int64) int { return cmp.Compare(b, a) })
		pool = append(pool, all[:max(0, len(all)-int(n.locs[v].demand))]...)
	}
	price := int64(0)
	if int64(len(pool)) > slots && slots > 0 {
		slices.Sort(pool)
		price = max(0, pool[len(pool)-int(slots)])
	}
	for i := range n.locs {
		l := &n.locs[i]
		n.price[i] = price
		if l.leaf && l.parent == none {
			n.price[i] = waiting(bids[i], price, int(l.demand), int64(l.demand)+int64(l.capacity))
		}
	}
	n.price[Sink] = 0
	n.measure()
	n.pool = pool
	return true
}

// bid notes what t would pay for a slot at the leaf where it may wait.
func (n *Net) bid(t int32, bids [][]int64) {
	var wait Loc = none
	var least, cost int64
	found := false
	opts := n.optionsOf(t)
	for i := range opts {
		o := &opts[i]
		c := o.cost(n.now)
		switch l := &n.locs[o.at]; {
		case l.leaf && l.parent == none:
			wait, cost = o.at, c
		case !found || c < least:
			least, found = c, true
		}
	}
	if wait != none && found {
		bids[wait] = append(bids[wait], cost-least)
	}
}

// waiting is the price of waiting at a leaf where at least low and at most high
// of the tasks that bid for a slot, dearest bids first, must wait.
func waiting(bids []int64, slot int64, low int, high int64) int64 {
	// A task waits if its bid is below slot - price.
	if k := len(bids) - low; low > 0 && k >= 0 && k < len(bids) && bids[k] > slot {
		return slot - bids[k]
	}
	if k := int64(len(bids)) - high - 1; k >= 0 && bids[k] < slot {
		return slot - bids[k]
	}
	return 0
}
