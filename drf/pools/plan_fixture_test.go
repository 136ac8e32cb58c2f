package pools_test

import (
	"slices"

	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/omega"
)

// running is a task of a job on a machine.
type running struct {
	Job     pools.Node
	Machine int
	Need    vec
	Started int64
}

// plan is the outcome of preempt: with Yields, the tasks to stop, all on Machine.
type plan struct {
	Verdict allot.Verdict
	Machine int
	Tasks   []int
}

// The outcomes of preempt besides the verdicts of pools.Preempt.
const (
	fitsAlready allot.Verdict = 100 + iota
	noMachine
)

// preempt plans a preemption with the ranks of pools and the planner of omega. Each task
// is the same loss.
func preempt(standings []pools.Standing, job pools.Node, demand vec, free []vec, tasks []running) (plan, error) {
	p, err := pools.Preempt(standings, job, demand)
	if err != nil {
		return plan{}, err
	}
	if m := slices.IndexFunc(free, demand.Fits); m >= 0 {
		return plan{Verdict: fitsAlready, Machine: m}, nil
	}
	on := make([][]int, len(free))
	for i, r := range tasks {
		on[r.Machine] = append(on[r.Machine], i)
	}
	out := plan{Verdict: p.Verdict()}
	if out.Verdict != allot.Yields {
		return out, nil
	}
	out.Verdict = noMachine
	var best omega.Victims
	for m := range free {
		var candidates []omega.Candidate
		for _, i := range on[m] {
			if rank, ok := p.Rank(tasks[i].Job, tasks[i].Need, free[m]); ok {
				candidates = append(candidates, omega.Candidate{ID: i, Need: tasks[i].Need, Rank: rank, Started: tasks[i].Started})
			}
		}
		v, ok := omega.ChooseVictims(demand, free[m], omega.InOrder(candidates),
			func(c omega.Candidate) bool { return p.Lose(tasks[c.ID].Job, c.Need, free[m]) },
			func(c omega.Candidate) { p.Keep(tasks[c.ID].Job, c.Need) })
		if ok && (out.Verdict == noMachine || v.Compare(&best) < 0) {
			best, out = v, plan{Verdict: allot.Yields, Machine: m, Tasks: v.IDs}
		}
	}
	return out, nil
}
