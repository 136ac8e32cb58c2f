package slots

import (
	"slices"

	"github.com/cellsched/cellsched/internal/fault"

	"github.com/cellsched/cellsched/internal/mcf"
)

// Bounds of prices.
//
//  1. Costs are within 2^44 at all times, see the planner, where there are at most 2^16
//     locations. Where there are n times as many, Solve refuses costs beyond 2^44/n, see
//     fits.
//  2. A shortest path comes to a location once. It comes by a task that costs up to 2^45
//     more there than where it sat, or by an arc that costs nothing. So costs along a path
//     are within 2^61 - 2^45.
//  3. While no price is farther from 0 than 2^61, the distance between the ends of a path
//     is thus below 2^61 + 2^62. So distance and price together are below 2^63.
//  4. Other sums may wrap around before they come to a distance, which does no harm.
const (
	// never is above all prices at which a task leaves, and all that tasks pay.
	never = int64(1) << 62
	// A Solve stops when prices are farther apart than that.
	farthest = int64(1) << 61
	// A Solve that finds prices farther apart than that begins with an auction.
	distant = int64(1) << 52
)

// fits returns an error if there are more than 2^16 locations and the cost of a path may
// not fit. Costs count at any time up to 2^28.
func (n *Net) fits() error {
	locs := int64(len(n.locs))
	if most := farthest / (2 * locs); locs > 1<<16 && n.dearest > most {
		return fault.Newf("quincy", mcf.ErrRange, "costs up to %d with %d machines, racks and jobs, want at most %d", n.dearest, n.Len(), most)
	}
	return nil
}

// measureCost notes how large the cost of o may become.
func (n *Net) measureCost(o Option) {
	n.dearest = max(n.dearest, max(o.Base, -o.Base)+max(int64(o.Slope), -int64(o.Slope))<<28)
}

// moved notes that prices have moved, none by more than that, and stops the Solve
// when they are too far apart.
//
// Where units can go from one location to another and back, prices cannot part.
// Elsewhere they can: a search moves those that it gets to by up to the distance of
// the farthest, which is as far as prices have parted before. So they may grow by a
// factor with each search, most easily where no solution is found and searches go
// on to the end.
func (n *Net) moved(by int64) {
	if n.span > farthest {
		return // stopped
	}
	if n.span += by; n.span > farthest && !n.rebase() {
		n.work.stop()
	}
}

// rebase makes the sink's price 0, which keeps all reduced costs, and reports
// whether prices are near enough to each other then.
func (n *Net) rebase() bool {
	low, high := slices.Min(n.price), slices.Max(n.price)
	if uint64(high)-uint64(low) > uint64(farthest) {
		return false
	}
	sink := n.price[Sink]
	for v := range n.price {
		n.price[v] -= sink
	}
	n.span = high - low
	n.forgetLimits()
	return true
}

// measure notes how far from 0 prices are.
func (n *Net) measure() {
	n.span = max(slices.Max(n.price), -slices.Min(n.price))
}
