package experiments

import (
	"context"

	"github.com/cellsched/cellsched/delay"
)

// policy decides which tasks run where.
type policy interface {
	// add notes a job, all tasks of which wait.
	add(w *world, l *live) error
	// ended notes the end of a task of a job.
	ended(w *world, l *live, task int) error
	// round starts and stops tasks, by [world.start] and [world.stop].
	round(ctx context.Context, w *world) error
}

// plan is a policy by name.
type plan struct {
	name string
	make func(s *setting) (policy, error)
}

// policies are all that loads are run by.
func policies() []plan {
	all := []plan{
		{Greedy, func(*setting) (policy, error) { return &greedy{}, nil }},
		{GreedyFair, func(*setting) (policy, error) { return &greedy{fair: true}, nil }},
		{GreedyFairPreempts, func(*setting) (policy, error) { return &greedy{fair: true, preempts: true}, nil }},
		{Delay, waiting},
	}
	for _, p := range []struct {
		name           string
		fair, preempts bool
	}{{Quincy, false, false}, {QuincyPreempts, false, true}, {QuincyFair, true, false}, {QuincyFairPreempts, true, true}} {
		all = append(all, plan{p.name, func(s *setting) (policy, error) {
			return newPlanned(s.cell, s.costs, p.fair, p.preempts, false)
		}})
	}
	return all
}

// Names of policies.
const (
	Greedy             = "greedy"
	GreedyFair         = "greedy, fair"
	GreedyFairPreempts = "greedy, fair, preempts"
	Delay              = "delay scheduling"
	Quincy             = "quincy"
	QuincyPreempts     = "quincy, preempts"
	QuincyFair         = "quincy, fair"
	QuincyFairPreempts = "quincy, fair, preempts"
)

// waiting is delay scheduling with the wait that is suggested for jobs of ten
// tasks.
func waiting(s *setting) (policy, error) {
	l := delay.Load{Tasks: small, Nodes: len(s.cell.rack), Replicas: 3, Slots: s.cell.slots, Task: s.task}
	_, wait, err := l.Suggest(0.95)
	if err != nil {
		return nil, err
	}
	return newDelayed(len(s.cell.rack)*s.cell.slots, wait)
}
