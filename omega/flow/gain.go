package flow

import (
	"math"

	"github.com/cellsched/cellsched/locality/quincy"
)

// gain is the cost that a plan saves if a task runs: the cost to wait, less the cost of
// its cheapest arc, or of the arc to its present machine. It is of the time when the
// arcs were asked for.
type gain struct {
	cost, rate, at int64
}

// noGain is the cost in the gain of a task that has no arc but to wait.
const noGain = math.MinInt64 / 2

func (g gain) none() bool { return g.cost == noGain }

// gainOf returns the gain of a task with these arcs. A task whose only arcs are to
// wait has a gain below all others.
func gainOf(arcs []quincy.Arc, state quincy.State, now int64) gain {
	waits := quincy.Arc{Cost: quincy.MaxCost}
	best := quincy.Arc{Cost: math.MaxInt64}
	for _, a := range arcs {
		switch {
		case a.To == quincy.Unscheduled():
			waits = a
		case state.Running && a.To != quincy.OnMachine(state.On):
		case a.Cost < best.Cost:
			best = a
		}
	}
	if best.Cost == math.MaxInt64 {
		return gain{cost: noGain, at: now}
	}
	return gain{cost: waits.Cost - best.Cost, rate: int64(waits.Rate) - int64(best.Rate), at: now}
}
