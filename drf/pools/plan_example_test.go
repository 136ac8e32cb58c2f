package pools_test

import (
	"fmt"

	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/omega"
)

// Production has a min share of 6 of 10 CPUs. It was idle at night, and research
// borrowed them all. In the morning production takes back its own share, task by
// task. Research loses its latest tasks, and no more than that.
func ExamplePreempt() {
	tree, _ := pools.New[string](vec{10}, nil)
	production, _ := tree.AddPool(tree.Root(), "production", pools.Config{Min: vec{6}})
	research, _ := tree.AddPool(tree.Root(), "research", pools.Config{})
	web, _ := tree.AddJob(production, "web", pools.Config{})
	training, _ := tree.AddJob(research, "training", pools.Config{})
	analysis, _ := tree.AddJob(research, "analysis", pools.Config{})

	wanted := map[pools.Node]int64{web: 9, training: 5, analysis: 5}
	type task struct {
		job  pools.Node
		need vec
	}
	var tasks []task // by start; those that were stopped need nothing
	changed := func(job pools.Node) {
		usage, _ := tree.Usage(job)
		_ = tree.Backlog(job, vec{wanted[job] - usage[0]})
	}
	start := func(job pools.Node, cpus int64) {
		_ = tree.Demand(job, vec{cpus})
		_ = tree.Charge(job, vec{cpus})
		changed(job)
		tasks = append(tasks, task{job, vec{cpus}})
	}
	for _, cpus := range []int64{2, 2, 1} {
		start(training, cpus)
		start(analysis, cpus)
	}
	_ = tree.Demand(web, vec{3})
	changed(web)

	for {
		held, _ := tree.Usage(tree.Root())
		free := vec{10 - held[0]}          // a single machine: the cell
		first, _ := tree.First(production) // web: the first job in the pool
		need, _ := tree.Next(first)
		p, _ := pools.Preempt(tree.Standings(), first, need)
		var candidates []omega.Candidate
		for i, t := range tasks {
			if rank, ok := p.Rank(t.job, t.need, free); ok {
				candidates = append(candidates, omega.Candidate{ID: i, Need: t.need, Rank: rank, Started: int64(i)})
			}
		}
		victims, ok := omega.ChooseVictims(need, free, omega.InOrder(candidates),
			func(c omega.Candidate) bool { return p.Lose(tasks[c.ID].job, c.Need, free) },
			func(c omega.Candidate) { p.Keep(tasks[c.ID].job, c.Need) })
		if !ok {
			fmt.Println("production", p.Verdict())
			break
		}
		for _, i := range victims.IDs {
			t := &tasks[i]
			name, _ := tree.Key(t.job)
			fmt.Printf("stop task %d of %s (CPUs: %d)\n", i, name, t.need[0])
			_ = tree.Credit(t.job, t.need)
			changed(t.job)
			t.need = vec{}
		}
		start(first, need[0])
		fmt.Println("web starts a task (CPUs: 3)")
	}
	// Output:
	// stop task 5 of analysis (CPUs: 1)
	// stop task 3 of analysis (CPUs: 2)
	// web starts a task (CPUs: 3)
	// stop task 4 of training (CPUs: 1)
	// stop task 2 of training (CPUs: 2)
	// web starts a task (CPUs: 3)
	// production has its fair share
}
