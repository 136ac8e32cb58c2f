package allot_test

import (
	"slices"

	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// running is an allocation of a user on a machine, both by index.
type running struct {
	User, Machine int
	Need          resources.Vector
	Started       int64
}

// preemption is the outcome of preempt: with Yields, the allocations to preempt, all on
// Machine, and the user of the last.
type preemption struct {
	Verdict     allot.Verdict
	Machine     int
	Victim      int
	Allocations []int
}

// The outcomes of preempt besides the verdicts of allot.Preempt.
const (
	fitsAlready allot.Verdict = 100 + iota
	noMachine
)

// preempt plans a preemption with the ranks of drf and the planner of omega.
func preempt(total resources.Vector, users []allot.Holding, user int, free []resources.Vector, all []running) (preemption, error) {
	p, err := allot.Preempt(total, users, user)
	if err != nil {
		return preemption{}, err
	}
	demand := users[user].Demand
	if m := slices.IndexFunc(free, demand.Fits); m >= 0 {
		return preemption{Verdict: fitsAlready, Machine: m}, nil
	}
	if p.Verdict() != allot.Yields {
		return preemption{Verdict: p.Verdict()}, nil
	}
	plan := preemption{Verdict: noMachine}
	var best omega.Victims
	for m := range free {
		var candidates []omega.Candidate
		for i, r := range all {
			if rank, ok := p.Rank(r.User); ok && r.Machine == m {
				candidates = append(candidates, omega.Candidate{ID: i, Need: r.Need, Rank: rank, Started: r.Started, Loss: omega.LossOf(r.Need, total)})
			}
		}
		v, ok := omega.ChooseVictims(demand, free[m], omega.InOrder(candidates),
			func(c omega.Candidate) bool { return p.Lose(all[c.ID].User, c.Need) },
			func(c omega.Candidate) { p.Keep(all[c.ID].User, c.Need) })
		if ok && (plan.Verdict == noMachine || v.Compare(&best) < 0) {
			best, plan = v, preemption{Verdict: allot.Yields, Machine: m, Victim: all[v.IDs[len(v.IDs)-1]].User, Allocations: v.IDs}
		}
	}
	return plan, nil
}
