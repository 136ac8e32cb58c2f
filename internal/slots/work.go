package slots

import (
	"context"
	"errors"
	"math"
)

// Budgets of a Solve, in looks at every arc. Cost scaling takes about a hundred times
// as long as one look. From scratch, cells of the benchmarks take 4 to 16, and rounds
// in which 1 % of the tasks change 0.01 to 6.
const (
	warmLooks = 8  // from the last round's prices, see effort for less
	coldLooks = 32 // from an auction, before it is left to cost scaling

	// Looks at so many arcs take some tenths of a millisecond.
	lookEvery = 1 << 14
)

// errSpent is the error that stops a search for a solution beyond its budget.
var errSpent = errors.New("quincy: out of budget")

// work counts the arcs that a Solve looks at, and stops it: the caller does not want the
// result any more, or there must be a better path. Between any two steps before which it
// is asked, prices and places are in order.
type work struct {
	err    func() error // of the context
	every  int64        // how many arcs to look at between looks at that
	used   int64
	before int64 // used by former attempts of the same Solve
	limit  int64
	look   int64 // when to look at the context again
}

// begin starts to count up to so many arcs.
func (w *work) begin(ctx context.Context, limit int64) {
	*w = work{err: ctx.Err, every: w.every, limit: limit, before: w.before + w.used}
}

// times returns looks × arcs, or the nearest to that that an int64 holds.
func times(looks, arcs int64) int64 {
	if looks < math.MaxInt64/arcs {
		return looks * arcs
	}
	return math.MaxInt64
}

// spend notes that so many arcs were looked at, and reports whether to go on.
func (w *work) spend(arcs int) bool {
	w.used += int64(arcs)
	return w.used < w.look || w.goOn()
}

func (w *work) goOn() bool {
	if w.cancelled() || w.used >= w.limit {
		w.look = 0
		return false
	}
	w.look = min(w.limit, w.used+w.every)
	return true
}

// stop lets nothing go on: the budget is spent.
func (w *work) stop() { w.limit, w.look = 0, 0 }

func (w *work) cancelled() bool { return w.err() != nil }
