package slots

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/cellsched/cellsched/internal/fault"

	"github.com/cellsched/cellsched/internal/mcf"
)

// ErrInfeasible is for problems in which not every task can have a place, or
// not every leaf what it keeps.
var ErrInfeasible = errors.New("quincy: infeasible")

// Solve gives every task a place so that the sum of costs is least, at the time now.
//
// Errors, after which some tasks may have no place, and a Solve after further changes
// goes on from there:
//
//   - [ErrInfeasible]: the problem has no solution.
//   - [mcf.ErrRange]: prices of 64 bits do not hold the costs, see [farthest].
//   - The cause of a cancelled context, within some milliseconds.
//
// Cost: O(options) for a search of everything. There are some dozens of those from
// scratch in a full net. It is near O(changes) when few tasks have come and gone and
// slots are free, and O(tasks) when time has passed, see elapse.
//
// A Solve that looks at too many options begins again with an auction, see effort. If that
// takes too many, too, cost scaling solves it, which has a bound on its time for any
// costs.
func (n *Net) Solve(ctx context.Context, now int64) error {
	if err := n.fits(); err != nil {
		return err
	}
	n.round++
	n.work.used, n.work.before = 0, 0
	if len(n.touched) > 2*len(n.tasks) { // the notes of the last ones were not used
		slices.Sort(n.touched)
		n.touched = slices.Compact(n.touched)
	}
	n.elapse(now)
	fresh := len(n.idle) == n.live
	apart := n.span > distant && (!n.rebase() || n.span > distant) // too far to go on from there
	anew := apart || n.auctionPays()
	units := n.units()
	var err error
	if !anew {
		err = n.run(ctx, false, fresh, n.warmLimit(fresh))
	}
	if again := errors.Is(err, errSpent); anew || again {
		if again && !fresh {
			n.restarts++
		}
		err = n.run(ctx, true, fresh, times(n.looks.cold, n.arcs()))
		if err == nil {
			n.effort.auctioned(n, units, again && !fresh)
		}
	}
	if errors.Is(err, errSpent) {
		n.scalings++
		err = n.scale(ctx)
		if errors.Is(err, mcf.ErrRange) || errors.Is(err, mcf.ErrInfeasible) {
			// It does not take such costs, or does not say what is in the way.
			err = n.run(ctx, n.span > distant, false, math.MaxInt64)
		}
	}
	if errors.Is(err, errSpent) {
		return fault.Newf("quincy", mcf.ErrRange, "prices more than 2^61 apart")
	}
	return err
}

// run solves the problem from the prices there are, or anew with an auction, and looks at
// no more arcs than limit. If no task had a place, it is given up at once where an
// auction is likely to take less.
func (n *Net) run(ctx context.Context, anew, fresh bool, limit int64) error {
	n.work.begin(ctx, limit)
	ok := (!anew || n.auction()) && n.adjust()
	if ok && anew && len(n.idle) > n.live/4 {
		ok = n.warmPrices() && n.adjust()
	}
	if ok {
		n.forgetLimits()
		n.seatNear(fresh && !anew)
		for n.open() && n.work.goOn() {
			if !n.advance() && n.work.goOn() {
				return n.infeasible()
			}
		}
	}
	switch {
	case n.work.cancelled():
		return context.Cause(ctx)
	case n.stale || n.open() || n.span > farthest:
		return errSpent
	}
	return nil
}

// arcs is how many arcs there are, about.
func (n *Net) arcs() int64 { return int64(len(n.options.all) + len(n.locs)) }

// seatNear does what does not take a search of everything. If few should be left
// by then, it stops the Solve where more are.
func (n *Net) seatNear(few bool) {
	// Tasks that came take the slots of those that left, as far as they want these. Each
	// slot left over is a search away.
	n.seatAll()
	if n.plentyFree() && n.fill() {
		n.seatAll()
	}
	n.dirty = n.dirty[:0]
	if few && !n.plentyFree() && len(n.idle) > n.live/16 {
		n.work.stop()
		return
	}
	n.ascend()
	// In a small net a search of everything takes no more than one for a single task.
	if n.plentyFree() || n.arcs() > maxLooks {
		n.near()
	}
}

// advance finds the shortest paths for all units at once and sends units along
// them, and reports whether it could.
func (n *Net) advance() bool {
	before := len(n.idle)
	if n.shorten() == 0 || !n.pushAll() {
		return false
	}
	if len(n.idle) < before/2 {
		return true
	}
	for n.open() && n.off > 1 && n.work.goOn() {
		before = len(n.idle)
		n.spread()
		n.pushAll()
		if before-len(n.idle) <= before/4 {
			break
		}
	}
	return true
}

// plentyFree reports whether slots are free in numbers.
func (n *Net) plentyFree() bool { return n.free > 2*int64(len(n.idle)) }

// open reports whether a unit is not where it belongs.
func (n *Net) open() bool { return len(n.idle) > 0 || n.off > 0 }

func (n *Net) infeasible() error {
	if len(n.idle) > 0 {
		return fault.Newf("quincy", ErrInfeasible, "%d of %d tasks have no place", len(n.idle), n.live)
	}
	return fault.Newf("quincy", ErrInfeasible, "a location has more than it can pass on")
}

// pushAll sends units the paths that were found, until there are none, and
// reports whether there was one.
func (n *Net) pushAll() bool {
	moved := false
	for i := len(n.idle) - 1; i >= 0; i-- {
		t := n.idle[i]
		least := n.least(t)
		opts := n.optionsOf(t)
		for j := range opts {
			o := &opts[j]
			if cost := o.cost(n.now); cost+n.price[o.at] == least && n.push(o.at, false) {
				n.take(t, o.at, cost)
				moved = true
				break
			}
		}
		if !n.work.spend(len(opts)) {
			return moved
		}
	}
	for i := range n.locs {
		for n.locs[i].excess > 0 && n.push(Loc(i), true) {
			moved = true
		}
	}
	return moved
}
