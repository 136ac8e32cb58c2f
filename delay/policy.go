package delay

import (
	"math"
	"time"

	"github.com/cellsched/cellsched/locality"
)

// Policy bounds the wait of a job for nodes near its data: by a count of offers, by
// time, or by learned waits.
//
// The zero Policy never waits: every offer is taken. Policies are plain values:
// compare them with ==, copy them, and share them between goroutines if they have
// no Learner.
type Policy struct {
	// Skips is the paper's D: after that many offers passed up since the last
	// launch at level 0, any offer is taken (Algorithm 2).
	Skips int

	// Waits are the paper's W1, W2, and so on (Algorithm 3).
	//
	// They bound the loss of a cell. In a time X the cell idles for the job for at
	// most
	//
	//	W + W·5n/4K + X/16 + g
	//
	// however the slots are offered. Here W is the sum of the waits. K is the
	// number of the job's tasks, as set by [Job.SetPending], and n of them are
	// launched near their data; without that call n/K is 0. g is the longest time
	// between offers of an idle slot, no longer than a task.
	Waits Waits

	// Paper lets any launch end the wait, as in Algorithm 3, for comparison with
	// it. Then there is no such bound: frequent launches near the data keep all
	// other nodes idle. It makes no difference to a count of skips.
	Paper bool

	// Learn is the learner of the waits. Until it knows enough, Waits apply. Jobs
	// with the same Learner learn from each other. It excludes Skips and Paper.
	Learn *Learner
}

// Waits holds at index l the wait of a job at level l: so long it takes nodes up to
// level l, and then those of level l+1 too. [locality.NodeLocal] is the wait for a
// node, [locality.RackLocal] the further wait for a rack.
//
// A wait of zero opens the next level at once, so levels beyond the last non-zero
// wait open together. Waits{5 * time.Second} waits for the node and then takes
// anything, whether the topology has two levels or sixteen. With two, level 1 is
// already anywhere, so only the first wait counts.
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
