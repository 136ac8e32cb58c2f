package pools_test

import (
	"fmt"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/drf/pools"
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
	var running []pools.Running
	changed := func(job pools.Node) {
		usage, _ := tree.Usage(job)
		_ = tree.Backlog(job, vec{wanted[job] - usage[0]})
	}
	start := func(job pools.Node, cpus int64) {
		_ = tree.Demand(job, vec{cpus})
		_ = tree.Charge(job, vec{cpus})
		changed(job)
		running = append(running, pools.Running{Job: job, Need: vec{cpus}, Started: int64(len(running))})
	}
	for _, cpus := range []int64{2, 2, 1} {
		start(training, cpus)
		start(analysis, cpus)
	}
	_ = tree.Demand(web, vec{3})
	changed(web)

	for {
		held, _ := tree.Usage(tree.Root())
		free := []vec{{10 - held[0]}}      // a single machine: the cell
		first, _ := tree.First(production) // web: the first job in the pool
		need, _ := tree.Next(first)
		plan, _ := pools.Preempt(tree.Standings(), first, need, free, running)
		if plan.Verdict != drf.Yields {
			fmt.Println("production", plan.Verdict)
			break
		}
		for _, i := range plan.Tasks {
			task := &running[i]
			name, _ := tree.Key(task.Job)
			fmt.Printf("stop task %d of %s (CPUs: %d)\n", i, name, task.Need[0])
			_ = tree.Credit(task.Job, task.Need)
			changed(task.Job)
			task.Need = vec{} // it holds nothing, so it is not stopped again
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
