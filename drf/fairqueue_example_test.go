package drf_test

import (
	"fmt"
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// One slot, two tenants that always have a task. The tasks of the first are
// three times as long; both get half of the time.
func ExampleFairQueue() {
	slot := resources.Vector{1}
	q, err := drf.NewFairQueue(slot)
	if err != nil {
		panic(err)
	}
	reports, err := q.Add(drf.User{}, 1)
	if err != nil {
		panic(err)
	}
	web, err := q.Add(drf.User{}, 1)
	if err != nil {
		panic(err)
	}
	length := map[drf.User]time.Duration{reports: 3 * time.Second, web: time.Second}
	for _, u := range []drf.User{reports, web} {
		if err := q.Wait(u, slot, 0); err != nil {
			panic(err)
		}
	}

	ran := map[drf.User]time.Duration{}
	for now := time.Duration(0); now < time.Minute; {
		u, _ := q.Pick(now, &slot, func(drf.User) bool { return true })
		task := drf.Run{Need: slot}
		if err := q.Start(u, &task, now); err != nil {
			panic(err)
		}
		now += length[u] // the task runs
		if err := q.End(&task, now); err != nil {
			panic(err)
		}
		ran[u] += length[u]
	}
	fmt.Println("reports", ran[reports], "web", ran[web])
	// Output:
	// reports 30s web 30s
}
