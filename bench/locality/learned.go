package main

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"github.com/cellsched/cellsched/delay"
)

// phase is a time in which jobs are alike and come at random times.
type phase struct {
	name    string
	mean    time.Duration // of tasks, evenly from half to one and a half of it
	varies  bool          // exponentially instead
	remote  time.Duration // by how much longer they run far from their data
	busy    float64       // share of slots, if all ran near their data
	holders int           // nodes that have data at all
	tasks   int           // of each job
	single  bool          // one replica, and not 3
}

func phases() []phase {
	const s = time.Second
	return []phase{
		{name: "busy, much to gain", mean: 20 * s, remote: 20 * s, busy: 0.9, holders: nodes, tasks: 10},
		{name: "long tasks, little to gain", mean: 200 * s, remote: 10 * s, busy: 0.9, holders: nodes, tasks: 10},
		{name: "data on 10 nodes", mean: 20 * s, remote: 10 * s, busy: 0.5, holders: 10, tasks: 10},
		{name: "data on 3 nodes", mean: 20 * s, remote: 10 * s, busy: 0.5, holders: 3, tasks: 10},
		{name: "small jobs, much to gain", mean: 20 * s, remote: 20 * s, busy: 0.9, holders: nodes, tasks: 2},
	}
}

// others are phases of other kinds than those that the constants of
// [delay.Learner] were chosen by.
func others() []phase {
	const s = time.Second
	return []phase{
		{name: "tasks shorter than its first wait", mean: 2 * s, remote: s / 5, busy: 0.7, holders: nodes, tasks: 10, single: true},
		{name: "run times vary much", mean: 20 * s, varies: true, remote: 4 * s, busy: 0.8, holders: nodes, tasks: 10},
		{name: "one replica", mean: 20 * s, remote: 4 * s, busy: 0.8, holders: nodes, tasks: 10, single: true},
		{name: "nothing to gain", mean: 20 * s, busy: 0.8, holders: nodes, tasks: 10},
		{name: "jobs of 100 tasks", mean: 20 * s, remote: 10 * s, busy: 0.8, holders: nodes, tasks: 100},
		{name: "jobs of one task", mean: 5 * s, remote: s, busy: 0.7, holders: nodes, tasks: 1, single: true},
		{name: "long tasks, much to gain", mean: 200 * s, remote: 100 * s, busy: 0.9, holders: nodes, tasks: 10},
	}
}

// fixed are the waits beside the one that is learned.
func fixed() []time.Duration {
	const s = time.Second
	return []time.Duration{0, s / 2, s, 2 * s, 5 * s, 10 * s, 20 * s, 60 * s}
}

// changing are jobs with so many tasks together in each phase, one phase after
// the other. How many jobs there are by the end of each goes to ends.
func changing(random *rand.Rand, phases []phase, tasks int, ends []int) iter.Seq[*job] {
	return func(yield func(*job) bool) {
		now, n := time.Duration(0), 0
		for i, p := range phases {
			apart := p.mean.Seconds() * float64(p.tasks) / (p.busy * nodes * slots)
			for range tasks / p.tasks {
				now += time.Duration(random.ExpFloat64() * apart * float64(time.Second))
				j := &job{at: now, tasks: make([]task, p.tasks)}
				for k := range j.tasks {
					run, copies := time.Duration(0), replicas
					if p.varies {
						run = time.Duration(random.ExpFloat64() * float64(p.mean))
					} else {
						run = between(random, p.mean/2, p.mean*3/2)
					}
					if p.single {
						copies = 1
					}
					j.tasks[k] = task{holders: spread(random, p.holders, copies), near: run, far: run + p.remote}
				}
				n++
				ends[i] = n
				if !yield(j) {
					return
				}
			}
		}
	}
}

// learned has a cell go through the phases under each rule.
func learned(ctx context.Context, o options) ([]row, error) { return compare(ctx, o, phases()) }

// unseen does so with the other ones.
func unseen(ctx context.Context, o options) ([]row, error) { return compare(ctx, o, others()) }

// compare has a cell go through phases under each rule.
func compare(ctx context.Context, o options, phases []phase) (rows []row, err error) {
	type rule struct {
		name   string
		policy delay.Policy
	}
	var rules []rule
	for _, wait := range fixed() {
		rules = append(rules, rule{fmt.Sprintf("wait %v", wait), delay.Policy{Waits: delay.Waits{wait}}})
	}
	rules = append(rules, rule{"learned", delay.Policy{Learn: new(delay.Learner), Waits: delay.Waits{5 * time.Second}}})

	results := make([][]row, len(phases))
	overall := make([]row, len(rules))
	for _, rule := range rules {
		s, err := newFIFO(rule.policy, nil)
		if err != nil {
			return nil, err
		}
		c := cell{nodes: nodes, slots: slots, beat: time.Second}
		ends := make([]int, len(phases))
		out, err := c.simulate(ctx, s, changing(rand.New(rand.NewPCG(o.seed, 3)), phases, o.of(20_000), ends), math.MaxInt)
		if err != nil {
			return nil, err
		}
		first := 0
		for i, end := range ends {
			local, mean := out.of(func(job int) bool { return job >= first && job < end }, 0)
			results[i] = append(results[i], row{Case: phases[i].name, Rule: rule.name, Local: local, Mean: mean})
			first = end
		}
	}
	for i := range phases {
		best := math.Inf(1)
		for _, r := range results[i] {
			best = min(best, r.Mean)
		}
		for k := range results[i] {
			r := &results[i][k]
			r.Relative = r.Mean / best
			overall[k].Case, overall[k].Rule = "all", r.Rule
			overall[k].Relative += r.Relative / float64(len(phases))
			overall[k].Local += r.Local / float64(len(phases))
		}
		rows = append(rows, results[i]...)
	}
	return append(rows, overall...), nil
}
