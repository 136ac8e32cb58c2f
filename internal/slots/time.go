package slots

import "math"

// unsure is the drift of a task that is to be looked at when time passes.
const unsure = math.MinInt32

// elapse lets time pass. A task stays as well off as it was if its cost grows there by no
// more than at any of its other options. Then only its cost changes, by its drift. The
// others are looked at. Time that goes back takes a look at all. Cost: O(tasks), in the
// order in which they are in memory, and O(options) of those to be looked at, by adjust.
func (n *Net) elapse(now int64) {
	passed := now - n.now
	n.now = now
	if passed == 0 || n.drifts == 0 {
		return
	}
	n.stale = n.stale || passed < 0
	if n.stale {
		return
	}
	for i := range n.tasks {
		switch k := &n.tasks[i]; {
		case k.n == 0 || k.drift == 0:
		case k.drift == unsure:
			n.changed = append(n.changed, int32(i))
		default:
			n.charge(int32(i), n.cur[i].cost+int64(k.drift)*passed)
		}
	}
}

// drift returns the slope of the option at v, or unsure if another one grows
// less.
func drift(opts []option, v Loc) int32 {
	own, least := int32(unsure), int32(math.MaxInt32)
	for i := range opts {
		if o := &opts[i]; o.at == v {
			own = o.slope
		} else {
			least = min(least, o.slope)
		}
	}
	if least < own {
		return unsure
	}
	return own
}
