package drf_test

import (
	"fmt"
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// Two schedulers of one cell of 10 CPUs and 20 GB, each asking whenever it has
// time: the quick one asks three times as often, and takes no more than its
// share.
func ExampleGate() {
	free := resources.Vector{10, 20}
	gate, err := drf.NewGate(free, time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}
	quick, _ := gate.Join(1) // a valid weight cannot fail
	slow, _ := gate.Join(1)
	now := time.Now()

	take := func(name string, seat *drf.Seat, need resources.Vector) {
		yes, err := seat.Ask(need, now)
		if err != nil || !yes {
			fmt.Printf("%-5s asks: others have less\n", name)
			return
		}
		left, ok := free.Sub(need) // here a real one places, and commits to the cell
		if !ok {
			_, _ = seat.Miss(need, now) // fails for more than the last yes was for
			fmt.Printf("%-5s finds no room, and is parked\n", name)
			return
		}
		free = left
		seat.Keep()
		fmt.Printf("%-5s takes %d CPU, %2d GB: %.1f\n", name, need[0], need[1], seat.Share())
	}
	for range 3 {
		take("slow", slow, resources.Vector{1, 6})
		for range 3 {
			take("quick", quick, resources.Vector{2, 1})
		}
	}
	// Output:
	// slow  takes 1 CPU,  6 GB: 0.3
	// quick takes 2 CPU,  1 GB: 0.2
	// quick takes 2 CPU,  1 GB: 0.4
	// quick asks: others have less
	// slow  takes 1 CPU,  6 GB: 0.6
	// quick takes 2 CPU,  1 GB: 0.6
	// quick takes 2 CPU,  1 GB: 0.8
	// quick asks: others have less
	// slow  finds no room, and is parked
	// quick finds no room, and is parked
	// quick finds no room, and is parked
	// quick finds no room, and is parked
}

// A user with large tasks comes to a full cell.
func ExampleHeap_SetPatience() {
	heap, _ := drf.New[string](resources.Vector{8})
	heap.SetPatience(2)
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
		u, ok := heap.Take(resources.Vector{free})
		if u == large {
			fmt.Printf("task %d ends: large is next\n", task)
			return
		}
		if ok {
			free--
		}
		skips, _ := heap.Skips(large)
		_, held := heap.Held()
		fmt.Printf("task %d ends: small takes its place: %v; passed over %d times; held back for: %v\n", task, ok, skips, held)
	}
	// Output:
	// task 1 ends: small takes its place: true; passed over 1 times; held back for: false
	// task 2 ends: small takes its place: true; passed over 2 times; held back for: false
	// task 3 ends: small takes its place: false; passed over 2 times; held back for: true
	// task 4 ends: small takes its place: false; passed over 2 times; held back for: true
	// task 5 ends: large is next
}
