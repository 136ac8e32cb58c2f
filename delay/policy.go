package delay

import (
	"math"
	"time"

	"github.com/cellsched/cellsched/locality"
)

// Policy says how long a job waits for nodes near its data: by a count of
// offers, by time, or for as long as it has learned that it pays.
//
// The zero Policy never waits: every offer is taken. Policies are plain
// values: compare them with ==, copy them, and share them between goroutines if
// they have no Learner.
type Policy struct {
	// Skips is the paper's D: after that many offers passed up since the last
	// launch at level 0, any offer is taken (Algorithm 2).
	Skips int

	// Waits are the paper's W1, W2, and so on (Algorithm 3).
	//
	// They bound what a cell loses. Let W be their sum, n of the K tasks of a job
	// launched near their data, and g the longest time between offers of an idle
	// slot, which is no longer than a task. In a time X the cell idles for the job
	// for W + W·5n/4K + X/16 + g at most, however the slots are offered. K is as
	// told by [Job.SetPending]; a job that was not told it has n/K = 0.
	Waits Waits

	// Paper has any launch end the wait, as Algorithm 3 says, for comparison
	// with it. Then there is no such bound: launches near the data, often enough,
	// keep all other nodes idle. It makes no difference to a count of skips.
	Paper bool

	// Learn has the waits learned and Waits be those for as long as nothing is
	// known for sure. The jobs that have the same Learner learn from each other.
	// Neither Skips nor Paper go with it.
	Learn *Learner
}

// Waits holds at index l how long a job that takes nodes up to level l waits
// before it takes those of level l+1 too: [locality.NodeLocal] is the wait for
// a node, [locality.RackLocal] the further wait for a rack.
//
// A wait of zero opens the next level at once, so levels beyond the last
// non-zero wait open together: Waits{5 * time.Second} holds out for the node
// and then takes anything, whether the topology has two levels or sixteen. With
// two, level 1 is already anywhere and the first wait is all there is to wait.
type Waits [locality.MaxLevels - 1]time.Duration

// check returns an error unless a job can follow p.
func (p Policy) check() error {
	if p.Skips < 0 {
		return refuse(ErrPolicy, "policy: skips = %d, want 0 or more", p.Skips)
	}
	var sum time.Duration
	for l, wait := range p.Waits {
		if wait < 0 {
			return refuse(ErrPolicy, "policy: wait at level %d = %v, want 0 or more", l, wait)
		}
		if wait > math.MaxInt64-sum {
			return refuse(ErrPolicy, "policy: waits up to level %d = %v + %v, want a sum of at most %v",
				l, sum, wait, time.Duration(math.MaxInt64))
		}
		sum += wait
	}
	if p.Skips > 0 && sum > 0 {
		return refuse(ErrPolicy, "policy: skips = %d and waits of %v in all, want one of them zero", p.Skips, sum)
	}
	switch {
	case p.Learn != nil && p.Skips > 0:
		return refuse(ErrPolicy, "policy: skips = %d and a learner, which is for waits, want one of them", p.Skips)
	case p.Learn != nil && p.Paper:
		return refuse(ErrPolicy, "policy: the paper's rule and a learner, which has its own, want one of them")
	}
	return nil
}
