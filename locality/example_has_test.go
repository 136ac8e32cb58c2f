package locality_test

import (
	"fmt"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Two users take turns by dominant shares. The tasks of one need an SSD, those of
// the other leave them alone. When no SSD has room, the other goes on: the next
// user is the lowest with a task that has a place.
func ExampleConstraints_Has() {
	var attributes locality.Attributes
	onSSD := locality.Equal("disk", locality.Text("ssd"))
	var cfg omega.Config
	for n, disk := range []string{"hdd", "ssd", "hdd"} {
		cfg.Machines = append(cfg.Machines, omega.Machine{Name: fmt.Sprint("m", n), Capacity: resources.Vector{2}})
		if err := attributes.Describe(locality.Node(n), map[string]locality.Value{"disk": locality.Text(disk)}); err != nil {
			panic(err)
		}
	}
	var needs []*locality.Constraints // by user
	for _, p := range []locality.Predicate{onSSD, onSSD.Not()} {
		constraint, err := attributes.Register(p)
		if err != nil {
			panic(err)
		}
		need, err := attributes.Require(constraint)
		if err != nil {
			panic(err)
		}
		needs = append(needs, need)
	}

	cell, err := omega.NewCell(cfg)
	if err != nil {
		panic(err)
	}
	scheduler, err := cell.Register("batch", omega.Limits{})
	if err != nil {
		panic(err)
	}
	snapshot, task := scheduler.Snapshot(), resources.Vector{1}

	heap, err := drf.New[int](resources.Vector{6})
	if err != nil {
		panic(err)
	}
	for user := range needs {
		who, err := heap.Add(user, 1)
		if err != nil {
			panic(err)
		}
		if err := heap.Demand(who, task); err != nil {
			panic(err)
		}
	}
	place := func(who drf.User) (omega.MachineID, bool) {
		user, _ := heap.Key(who)
		return snapshot.Find(omega.Query{Need: task, Allow: needs[user].Has}, omega.BestFit())
	}
	for {
		who, ok := heap.PickWhere(task, func(who drf.User) bool {
			_, ok := place(who)
			return ok
		})
		if !ok {
			break
		}
		m, _ := place(who)
		snapshot.Take(m, task)
		if err := heap.Charge(who, task); err != nil {
			panic(err)
		}
		user, _ := heap.Key(who)
		fmt.Println([]string{"queries", "reports"}[user], "on", cfg.Machines[m.Node()].Name)
	}
	// Output:
	// queries on m1
	// reports on m0
	// queries on m1
	// reports on m0
	// reports on m2
	// reports on m2
}
