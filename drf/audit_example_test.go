package drf_test

import (
	"fmt"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// Schedulers took from one cell as they liked. Afterwards: how much of its fair
// share does each user have, and which user envies which?
func ExampleAudit() {
	total := resources.Vector{90, 180} // CPUs, GB
	kinds := []string{"CPU", "memory"}
	names := []string{"batch", "service", "report"}
	users := []drf.Holding{
		{Usage: resources.Vector{60, 30}, Demand: resources.Vector{3, 1}},
		{Usage: resources.Vector{30, 120}, Weight: 2},
		{Usage: resources.Vector{5, 30}, Demand: resources.Vector{1, 6}},
	}

	report, err := drf.Audit(total, users)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, s := range report.Users {
		fmt.Printf("%-7s holds %.2f of the %-6s  fair %.2f  violation %+.2f  short %v\n",
			names[i], s.Held, kinds[s.Kind], s.Fair, s.Violation, s.Short)
	}
	fmt.Printf("Jain's index %.2f\n", report.Jain)

	envies, _ := drf.Envies(users) // audited, so they are valid
	for _, e := range envies {
		fmt.Printf("%s could run %d tasks with its weighted part of the holdings of %s, instead of %d\n",
			names[e.User], e.Other, names[e.Of], e.Own)
	}
	// Output:
	// batch   holds 0.67 of the CPU     fair 0.25  violation +0.42  short false
	// service holds 0.67 of the memory  fair 0.50  violation +0.17  short false
	// report  holds 0.17 of the memory  fair 0.25  violation -0.08  short true
	// Jain's index 0.78
	// report could run 10 tasks with its weighted part of the holdings of service, instead of 5
}

// Preempting back to fairness: early has filled the cell before late came. Late
// gets its half, one task at a time, and then nothing more.
func ExamplePreempt() {
	total, names := resources.Vector{8}, []string{"early", "late"}
	task := resources.Vector{1}
	users := []drf.Holding{
		{Usage: total, Demand: task}, // each has more to run
		{Demand: task},
	}
	free := make([]resources.Vector, 2) // two machines of four, both full
	var running []drf.Running
	for i := range 8 {
		running = append(running, drf.Running{User: 0, Machine: i % 2, Need: task, Started: int64(i)})
	}

	for {
		const late = 1
		p, err := drf.Preempt(total, users, late, free, running)
		if err != nil {
			fmt.Println(err)
			return
		}
		if p.Verdict != drf.Yields {
			fmt.Println("late:", p.Verdict)
			break
		}
		for _, i := range p.Allocations {
			v := &running[i]
			fmt.Printf("machine %d: %s's task %d makes room for %s\n", p.Machine, names[v.User], v.Started, names[late])
			users[v.User].Usage, _ = users[v.User].Usage.Sub(v.Need)
			users[late].Usage = users[late].Usage.Add(task)
			// Now it is late's, and the youngest.
			*v = drf.Running{User: late, Machine: p.Machine, Need: task, Started: v.Started + 8}
		}
	}

	p, _ := drf.Preempt(total, users, 0, free, running)
	fmt.Println("early:", p.Verdict)
	report, _ := drf.Audit(total, users)
	fmt.Println("Jain's index", report.Jain)
	// Output:
	// machine 1: early's task 7 makes room for late
	// machine 0: early's task 6 makes room for late
	// machine 1: early's task 5 makes room for late
	// machine 0: early's task 4 makes room for late
	// late: has its fair share
	// early: has its fair share
	// Jain's index 1
}
