package drf_test

import (
	"fmt"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// The paper's example: 9 CPUs and 18 GB. Tasks of A need mostly memory, tasks of B
// mostly CPUs. Both users end with two thirds of their dominant kind.
func Example() {
	total := resources.Vector{9, 18}
	demands := map[string]resources.Vector{"A": {1, 4}, "B": {3, 1}}
	kinds := []string{"CPU", "memory"}

	h, err := drf.New[string](total)
	if err != nil {
		fmt.Println(err)
		return
	}
	var users []drf.User
	for _, name := range []string{"A", "B"} {
		u, _ := h.Add(name, 1) // a new name and a valid weight cannot fail
		_ = h.Demand(u, demands[name])
		users = append(users, u)
	}

	fmt.Println("next   A         B        free CPU, memory")
	free := total
	for {
		u, ok := h.Pick(free)
		if !ok {
			break // no task fits
		}
		name, _ := h.Key(u)
		_ = h.Charge(u, demands[name])
		free, _ = free.Sub(demands[name])

		a, _, _ := h.Share(users[0])
		b, _, _ := h.Share(users[1])
		fmt.Printf("%-4s %5.2f  %8.2f  %7d, %d\n", name, a, b, free[0], free[1])
	}
	for _, u := range users {
		name, _ := h.Key(u)
		share, kind, _ := h.Share(u)
		fmt.Printf("%s holds %.2f of the %s\n", name, share, kinds[kind])
	}
	// Output:
	// next   A         B        free CPU, memory
	// A     0.22      0.00        8, 14
	// B     0.22      0.33        5, 13
	// A     0.44      0.33        4, 9
	// B     0.44      0.67        1, 8
	// A     0.67      0.67        0, 4
	// A holds 0.67 of the memory
	// B holds 0.67 of the CPU
}

// Production has three times the weight of research, until it has nothing left to
// run. No share is kept empty for it.
func ExampleHeap_SetWeight() {
	h, _ := drf.New[string](resources.Vector{8})
	task := resources.Vector{1}
	production, _ := h.Add("production", 1)
	research, _ := h.Add("research", 1)
	_ = h.Demand(production, task)
	_ = h.Demand(research, task)

	if err := h.SetWeight(production, -3); err != nil {
		fmt.Println(err)
	}
	_ = h.SetWeight(production, 3)

	free := resources.Vector{8}
	for {
		u, ok := h.Pick(free)
		if !ok {
			break
		}
		_ = h.Charge(u, task)
		free, _ = free.Sub(task)
	}
	for u := range h.All() { // equal shares: the one added first is first
		name, _ := h.Key(u)
		held, _ := h.Usage(u)
		share, _, _ := h.Share(u)
		fmt.Printf("%s holds %d, weighted share %.2f\n", name, held[0], share)
	}

	_ = h.Park(production) // has no more tasks
	_ = h.Credit(production, task)
	u, _ := h.Pick(task)
	name, _ := h.Key(u)
	fmt.Println("the room that production returns goes to", name)
	// Output:
	// drf: set weight of user "production": weight -3, want 1e-06 to 1e+06: invalid weight
	// production holds 6, weighted share 0.25
	// research holds 2, weighted share 0.25
	// the room that production returns goes to research
}

// Two machines of unlike shape, and one user for each shape. Even shares of each
// machine by itself would let each user run 6 tasks (W. Wang et al., INFOCOM 2014);
// even shares of both together, 10.
func ExampleHeap_PickWhere() {
	demands := []resources.Vector{{1, 5}, {5, 1}} // fifths of a CPU, of a GB
	free := []resources.Vector{{10, 60}, {60, 10}}
	heap, _ := drf.New[int](free[0].Add(free[1]))
	var users []drf.User
	for i, demand := range demands {
		u, _ := heap.Add(i, 1)
		_ = heap.Demand(u, demand)
		users = append(users, u)
	}
	// place finds the machine with the most of the task's dominant kind.
	place := func(u drf.User) (machine int, ok bool) {
		i, _ := heap.Key(u)
		machine = -1
		for m := range free {
			if demands[i].Fits(free[m]) && (machine < 0 || free[m][1-i] > free[machine][1-i]) {
				machine = m
			}
		}
		return machine, machine >= 0
	}
	ran := make([][2]int, len(users)) // by user and machine
	for {
		u, ok := heap.PickWhere(free[0].Max(free[1]), func(u drf.User) bool {
			_, fits := place(u)
			return fits
		})
		if !ok {
			break
		}
		i, _ := heap.Key(u)
		m, _ := place(u)
		free[m], _ = free[m].Sub(demands[i])
		_ = heap.Charge(u, demands[i])
		ran[i][m]++
	}
	for i, u := range users {
		share, _, _ := heap.Share(u)
		fmt.Printf("user %d: %v tasks on the machines, a share of %.2f\n", i, ran[i], share)
	}
	// Output:
	// user 0: [10 0] tasks on the machines, a share of 0.71
	// user 1: [0 10] tasks on the machines, a share of 0.71
}

// A user with large tasks comes to a full cell. The heap names it once it was passed over
// twice, and from then on the caller gives others only the room beside its task.
func ExampleHeap_SetMaxSkips() {
	heap, _ := drf.New[string](resources.Vector{8})
	heap.SetMaxSkips(2)
	small, _ := heap.Add("small", 1)
	_ = heap.Demand(small, resources.Vector{1})
	free := int64(8)
	for free > 0 {
		heap.Take(resources.Vector{free})
		free--
	}
	large, _ := heap.Add("large", 1)
	_ = heap.Demand(large, resources.Vector{3})

	for task := 1; ; task++ {
		_ = heap.Credit(small, resources.Vector{1}) // a small task ends
		free++
		room := free
		if _, late := heap.Overdue(); late && free >= 3 {
			fmt.Printf("task %d ends: large is next\n", task)
			return
		} else if late {
			room = 0 // nothing is beside the 3 that it needs
		}
		_, ok := heap.Take(resources.Vector{room})
		if ok {
			free--
		}
		skips, _ := heap.Skips(large)
		_, late := heap.Overdue()
		fmt.Printf("task %d ends: small takes its place: %v; passed over %d times; overdue: %v\n", task, ok, skips, late)
	}
	// Output:
	// task 1 ends: small takes its place: true; passed over 1 times; overdue: false
	// task 2 ends: small takes its place: true; passed over 2 times; overdue: false
	// task 3 ends: small takes its place: true; passed over 3 times; overdue: true
	// task 4 ends: small takes its place: false; passed over 3 times; overdue: true
	// task 5 ends: small takes its place: false; passed over 3 times; overdue: true
	// task 6 ends: large is next
}
