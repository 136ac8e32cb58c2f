package gate_test

import (
	"fmt"
	"time"

	"github.com/cellsched/cellsched/drf/gate"
	"github.com/cellsched/cellsched/resources"
)

// Two schedulers of one cell of 10 CPUs and 20 GB, each asking whenever it has
// time. The quick one asks three times as often, and takes no more than its
// share.
func ExampleGate() {
	free := resources.Vector{10, 20}
	g, err := gate.New(free, time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}
	quick, _ := g.Join(1) // a valid weight cannot fail
	slow, _ := g.Join(1)
	now := time.Now()

	take := func(name string, seat *gate.Seat, need resources.Vector) {
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
