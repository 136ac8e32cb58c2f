package federation_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/federation"
	"github.com/cellsched/cellsched/resources"
)

// Two cells of one machine each, and one global master that fills both. Messages are
// handed over by a loop here; programs use Run and a network.
func ExampleNew() {
	now := time.Unix(0, 0)
	g, err := federation.New(federation.Config{Name: "front", Locals: []string{"east", "west"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	locals := map[string]*federation.Verifier{}
	for _, name := range []string{"east", "west"} {
		cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{2}}}})
		if err != nil {
			fmt.Println(err)
			return
		}
		s, err := cell.Register("front", omega.Limits{})
		if err != nil {
			fmt.Println(err)
			return
		}
		locals[name], err = federation.NewVerifier(federation.Local{
			Name: name, Scheduler: s,
			Notify: func(e federation.Event) { fmt.Println(e.Task, e.Kind, "in", name) },
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := g.Submit(federation.Job{Name: "index", User: "search", Tasks: 3, Need: resources.Vector{1}}); err != nil {
		fmt.Println(err)
	}
	for range 3 { // ask for states; launch; hear what was granted
		asks, _ := g.Step(now)
		for _, m := range asks {
			v := locals[m.To]
			if err := v.Receive(m); err != nil {
				fmt.Println(err)
			}
			reports, _, err := v.Step(context.Background(), now)
			if err != nil {
				fmt.Println(err)
			}
			for _, m := range reports {
				if err := g.Receive(m); err != nil {
					fmt.Println(err)
				}
			}
		}
	}
	fmt.Printf("%d run, %d wait\n", g.Stats().Running, g.Stats().Waiting)
	// Output:
	// "index"[0] started in east
	// "index"[2] started in east
	// "index"[1] started in west
	// 3 run, 0 wait
}
