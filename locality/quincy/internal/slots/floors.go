package slots

import (
	"cmp"
	"slices"
)

// floors returns for each leaf the price at which an auction begins to sell the
// units that the leaf keeps: one that is not above that of a solution. At a leaf at
// the top, where the tasks of one job wait, it is the price at which as many tasks
// would wait as must if all slots were free: what a task would pay for a slot is the
// cost of waiting less that of its cheapest place. Slots are dearer later, so that
// no fewer tasks come to wait. Elsewhere it is 0. Cost: O(options).
func (n *Net) floors() []int64 {
	floors, bids := make([]int64, len(n.locs)), make([][]int64, len(n.locs))
	if !slices.ContainsFunc(n.locs, func(l loc) bool { return l.leaf && l.parent == none && l.demand > 0 }) {
		return floors
	}
	for t := range n.tasks {
		n.bid(int32(t), bids)
		if !n.work.spend(int(n.tasks[t].n)) {
			return floors
		}
	}
	for v, all := range bids {
		keeps := int(n.locs[v].demand)
		if keeps == 0 || !n.work.spend(len(all)) {
			continue
		}
		slices.SortFunc(all, func(a, b int64) int { return cmp.Compare(b, a) })
		if runs := len(all) - keeps; runs >= 0 {
			floors[v] = min(0, -all[runs])
		}
	}
	return floors
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
		case l.leaf && l.parent == none && l.demand > 0 && wait == none:
			wait, cost = o.at, c
		case !found || c < least:
			least, found = c, true
		}
	}
	if wait != none && found {
		bids[wait] = append(bids[wait], cost-least)
	}
}
