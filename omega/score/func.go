package score

import "github.com/cellsched/cellsched/resources"

// Func says how good a machine is for a task: higher is better. need is the need of
// the task, free the machine's free room before placing it, and capacity the
// machine's capacity, each in the kinds' base units.
//
// It is called only where need fits in free ([resources.Fits]) and vectors are
// valid ([resources.Vector.Check]). The vectors are pointers because a search
// has them in memory already. A Func only reads them and keeps none; but the
// compiler cannot tell that of a function value, and moves a caller's local
// vectors to the heap.
//
// All Funcs of this package return a finite number for every such input, also
// for a machine that has none of some kind, or nothing at all. A nil vector counts
// as one of nothing. They are pure,
// allocate nothing, and are safe for concurrent use. Scores of two Funcs are on
// different scales. Which of two machines with equal scores is taken is the
// search's to say.
type Func = func(need, free, capacity *resources.Vector) float64

// some returns v, or a vector of nothing for nil.
func some(v *resources.Vector) *resources.Vector {
	if v == nil {
		return new(resources.Vector)
	}
	return v
}

// left is the share of the machine's capacity of kind k that stays free: 0 to 1. The
// caller has made sure that there is some capacity. A caller that counts less capacity
// than can be free, say without reserved room, does not get beyond 1.
func left(need, free, capacity *resources.Vector, k int) float64 {
	return min(float64(free[k]-need[k])/float64(capacity[k]), 1)
}
