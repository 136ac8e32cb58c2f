package allot_test

import (
	"fmt"

	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/resources"
)

// A's tasks want 40 of 100 CPUs, B's 10. After four tasks of B, A is the poorest
// and does not fit: what the paper's algorithm leaves idle, B can have.
func ExampleFill() {
	total := resources.Vector{100}
	takers := []allot.Taker{{Demand: resources.Vector{40}}, {Demand: resources.Vector{10}}}

	passing, err := allot.Fill(total, takers, allot.FillOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	stopping, _ := allot.Fill(total, takers, allot.FillOptions{Stop: true}) // the same, which is valid
	fmt.Println("tasks of A and B, passing over tasks that do not fit:", passing)
	fmt.Println("tasks of A and B, ending there:                 ", stopping)

	takers[1].Demand = resources.Vector{}
	_, err = allot.Fill(total, takers, allot.FillOptions{})
	fmt.Println(err)
	// Output:
	// tasks of A and B, passing over tasks that do not fit: [1 6]
	// tasks of A and B, ending there:                  [1 4]
	// allot: taker 1: amount 0, want some of at least one kind: empty amount
}

// The next taker and the free room, task by task: the table of the paper.
func ExampleFillOrder() {
	free := resources.Vector{9, 18}
	takers := []allot.Taker{{Demand: resources.Vector{1, 4}}, {Demand: resources.Vector{3, 1}}}

	order, err := allot.FillOrder(free, takers, allot.FillOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range order {
		free, _ = free.Sub(takers[i].Demand) // it fits, or it would not be next
		fmt.Printf("%c: %d CPUs and %2d GB are left\n", 'A'+i, free[0], free[1])
	}
	// Output:
	// A: 8 CPUs and 14 GB are left
	// B: 5 CPUs and 13 GB are left
	// A: 4 CPUs and  9 GB are left
	// B: 1 CPUs and  8 GB are left
	// A: 0 CPUs and  4 GB are left
}

// Four teams share 12 CPUs and 12 GPUs. The tests have an end; of the GPUs that they
// leave, research has twice as many as training, since it counts double. The web
// uses none, and has the CPUs that are left when the GPUs have run out.
func ExampleDivide() {
	total := resources.Vector{12, 12}
	names := []string{"tests", "training", "research", "web"}
	takers := []allot.Taker{
		{Demand: resources.Vector{1, 1}, Tasks: 2},
		{Demand: resources.Vector{0, 1}},
		{Demand: resources.Vector{1, 2}, Weight: 2},
		{Demand: resources.Vector{1, 0}},
	}
	tasks, err := allot.Divide(total, takers)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, n := range tasks {
		d := takers[i].Demand
		fmt.Printf("%-8s %.2f tasks, %.2f CPUs, %.2f GPUs\n", names[i], n, n*float64(d[0]), n*float64(d[1]))
	}
	// Output:
	// tests    2.00 tasks, 2.00 CPUs, 2.00 GPUs
	// training 3.33 tasks, 0.00 CPUs, 3.33 GPUs
	// research 3.33 tasks, 3.33 CPUs, 6.67 GPUs
	// web      6.67 tasks, 6.67 CPUs, 0.00 GPUs
}
