package delay_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Two tenants take turns by dominant resource fairness: the one with the smaller
// share is asked first. Ada's data is on worker 0, which is busy; she passes up two
// workers, which Grace takes, and then runs anywhere.
func ExampleLine_dominantShares() {
	heap, err := drf.New[string](resources.Vector{8, 16})
	if err != nil {
		panic(err)
	}
	type tenant struct {
		delay.Job

		user drf.User
		need resources.Vector
		data locality.Node
	}
	tenants := make(map[string]*tenant)
	for _, t := range []struct {
		name string
		need resources.Vector
		data locality.Node
	}{
		{"ada", resources.Vector{1, 4}, 0},
		{"grace", resources.Vector{2, 1}, 1},
	} {
		job, err := delay.New(delay.Policy{Waits: delay.Waits{3 * time.Second}})
		if err != nil {
			panic(err)
		}
		user, _ := heap.Add(t.name, 1)
		_ = heap.Demand(user, t.need)
		tenants[t.name] = &tenant{Job: job, user: user, need: t.need, data: t.data}
	}

	var workers *locality.Topology // without racks
	var line delay.Line
	start := time.Date(2010, time.April, 13, 9, 0, 0, 0, time.UTC)
	for _, free := range []struct {
		after  time.Duration
		worker locality.Node
	}{{0, 1}, {2 * time.Second, 1}, {4 * time.Second, 2}, {5 * time.Second, 1}} {
		byShare := func(yield func(*delay.Job, locality.Level) bool) {
			for u := range heap.All() {
				name, _ := heap.Key(u)
				t := tenants[name]
				if !yield(&t.Job, workers.Level(free.worker, t.data)) {
					return
				}
			}
		}
		job, err := line.Offer(start.Add(free.after), byShare)
		if err != nil {
			panic(err)
		}
		for name, t := range tenants {
			if job == &t.Job {
				_ = heap.Charge(t.user, t.need)
				share, _, _ := heap.Share(t.user)
				fmt.Printf("%v: worker %d runs a task of %s, share now %.2f\n", free.after, free.worker, name, share)
			}
		}
	}
	// Output:
	// 0s: worker 1 runs a task of grace, share now 0.25
	// 2s: worker 1 runs a task of grace, share now 0.50
	// 4s: worker 2 runs a task of ada, share now 0.25
	// 5s: worker 1 runs a task of ada, share now 0.50
}

// A scheduler of a shared cell looks for the best of the nearest machines with
// room, and claims it if the job goes that far by now. The job learns of each
// machine that it passes up, and of a launch once that is committed: a conflict
// costs it nothing of its wait.
func ExampleJob_Allowed() {
	space, err := resources.NewSpace(resources.CPU())
	if err != nil {
		panic(err)
	}
	racks, err := locality.New(locality.Config{
		Levels: []string{"node", "rack", "any"}, Nodes: []string{"r1", "r1", "r2", "r2"},
	})
	if err != nil {
		panic(err)
	}
	// There is no room on n0, which has the data, nor in its rack until 4 s.
	cell, err := omega.NewCell(omega.Config{Space: space, Machines: []omega.Machine{
		{Name: "n0"},
		{Name: "n1", Capacity: resources.Vector{2000}},
		{Name: "n2", Capacity: resources.Vector{4000}},
		{Name: "n3", Capacity: resources.Vector{2000}},
	}})
	if err != nil {
		panic(err)
	}
	scheduler, err := cell.Register("batch", omega.Limits{})
	if err != nil {
		panic(err)
	}
	need, data := resources.Vector{2000}, locality.Node(0)
	n1, _ := cell.Machine("n1")
	ours, _ := cell.Account(context.Background(), "ada")
	theirs, _ := cell.Account(context.Background(), "other")
	var other omega.Txn
	other.Claim(omega.Claim{Machine: n1, Account: theirs, Need: need})
	if _, err := scheduler.Commit(&other); err != nil {
		panic(err)
	}

	job, err := delay.New(delay.Policy{Waits: delay.Waits{3 * time.Second, 5 * time.Second}})
	if err != nil {
		panic(err)
	}
	snapshot := scheduler.Snapshot()
	nearest := func(now time.Time) (omega.MachineID, locality.Level, bool) {
		snapshot.Refresh(now)
		for level := range racks.Any() + 1 {
			at := func(n locality.Node) bool { return racks.Level(n, data) == level }
			if m, ok := snapshot.Find(omega.Query{Need: need, Allow: at}, omega.BestFit()); ok {
				return m, level, true
			}
		}
		return 0, 0, false
	}

	start := time.Date(2010, time.April, 13, 9, 0, 0, 0, time.UTC)
	for _, after := range []time.Duration{0, 2 * time.Second, 4 * time.Second, 8 * time.Second, 13 * time.Second} {
		now := start.Add(after)
		machine, level, ok := nearest(now)
		if !ok {
			_ = job.Pause(now) // nothing to pass up
			continue
		}
		if level <= job.Allowed(now) {
			var tx omega.Txn
			tx.Claim(omega.Claim{Machine: machine, Account: ours, Need: need})
			if granted, err := scheduler.Commit(&tx); err != nil || granted == 0 {
				continue // another scheduler was faster: look again
			}
		}
		decision, err := job.Offer(now, level)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%v: room at level %s, launched: %v\n", after, racks.LevelName(level), decision.Launch)
		if after == 2*time.Second {
			a, _ := other.Allocation(0)
			if err := scheduler.Release(a); err != nil {
				panic(err)
			}
		}
	}
	// Output:
	// 0s: room at level any, launched: false
	// 2s: room at level any, launched: false
	// 4s: room at level rack, launched: true
	// 8s: room at level any, launched: true
	// 13s: room at level any, launched: true
}
