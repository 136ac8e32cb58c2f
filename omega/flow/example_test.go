package flow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/flow"
	"github.com/cellsched/cellsched/resources"
)

// Two workers with room for one task each, and two tasks that both have their data on the
// first. A service of another scheduler has half of the second. So one task waits, and
// its explanation says why. When the service has gone, it reads its data over the network
// rather than wait.
func ExampleScheduler() {
	space, err := resources.NewSpace(resources.CPU())
	must(err)
	cell, err := omega.NewCell(omega.Config{Space: space, Machines: []omega.Machine{
		{Name: "worker-0", Capacity: resources.Vector{4000}},
		{Name: "worker-1", Capacity: resources.Vector{4000}},
	}})
	must(err)
	service, err := cell.Register("service", omega.Limits{})
	must(err)
	ours, err := cell.Register("sorter", omega.Limits{})
	must(err)

	costs := quincy.DataCosts{Core: 20, Rack: 10, Wait: 1, Work: 1, Unscheduled: 100}
	input := []quincy.Block{{Bytes: 1 << 30, Nodes: []locality.Node{0}}}
	need, err := space.Parse("cpu=4")
	must(err)
	s, err := flow.New[string](flow.Config[string]{
		Cell: cell, Scheduler: ours, Slot: need,
		Arcs: func(arcs []quincy.Arc, _ string, state quincy.State, now int64) []quincy.Arc {
			return costs.Arcs(arcs, input, state, now)
		},
	})
	must(err)

	second, _ := cell.Machine("worker-1")
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: second, Need: resources.Vector{2000}})
	_, err = service.Commit(&tx)
	must(err)

	now := time.Unix(0, 0)
	must(s.AddJob("sort", 0, 2)) // at most two at once
	must(s.Add("a", flow.Task[string]{Job: "sort", Need: need}, now))
	round := func() {
		r, err := s.Round(context.Background(), now)
		must(err)
		for _, start := range r.Start {
			fmt.Println("start", start.Task, "on machine", start.Machine)
		}
	}
	round()
	must(s.Add("b", flow.Task[string]{Job: "sort", Need: need}, now))
	round()
	why, err := s.Explain("b")
	must(err)
	fmt.Print(why)

	id, _ := tx.Allocation(0)
	must(service.Release(id))
	now = now.Add(time.Second) // a has run for that long, and would lose it
	round()
	must(s.Done("a")) // its worker has told us
	must(s.Done("b"))
	// Output:
	// start a on machine 0
	// b of sort waits; 1 of the job run, want 0 to 2
	//   room: 0 of 2 machines will do, 2 short of cpu, missing cpu=2 on the nearest
	//   unscheduled: cost 100
	//   worker-0: cost 0: a from worker-0 to unscheduled
	//   rack 0: cost 10, +10 in all: a from worker-0 to unscheduled
	//   cluster: cost 10, +10 in all: a from worker-0 to unscheduled
	// start b on machine 1
}

// A process that schedules ends while a task runs, and another takes over. What
// the cell does not know, which task has which allocation, has been written down;
// an allocation that no task runs in is given back.
func ExampleScheduler_AddRunning() {
	need := resources.Vector{1}
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "worker", Capacity: resources.Vector{2}}}})
	must(err)
	first, err := cell.Register("sorter", omega.Limits{})
	must(err)
	var tx omega.Txn
	worker, _ := cell.Machine("worker")
	tx.Claim(omega.Claim{Machine: worker, Need: need})
	tx.Claim(omega.Claim{Machine: worker, Need: need})
	_, err = first.Commit(&tx)
	must(err)
	began := time.Unix(0, 0)
	id, _ := tx.Allocation(0)
	written := map[omega.AllocationID]string{id: "a"}

	ours, err := cell.Replace("sorter")
	must(err)
	s, err := flow.New[string](flow.Config[string]{
		Cell: cell, Scheduler: ours, Slot: need,
		Arcs: func(arcs []quincy.Arc, _ string, state quincy.State, now int64) []quincy.Arc {
			return quincy.DataCosts{Wait: 1, Unscheduled: 100}.Arcs(arcs, nil, state, now)
		},
	})
	must(err)
	must(s.AddJob("sort", 0, 2))
	now := began.Add(time.Minute)
	for a := range ours.Allocations() {
		task, runs := written[a.ID]
		if !runs {
			must(ours.Release(a.ID))
			continue
		}
		must(s.AddRunning(task, flow.Running[string]{Job: "sort", Machine: a.Machine, Allocation: a.ID, Since: began}, now))
	}
	must(s.Add("b", flow.Task[string]{Job: "sort", Need: need}, now))

	r, err := s.Round(context.Background(), now)
	must(err)
	fmt.Println(r.Running, "run")
	for _, start := range r.Start {
		fmt.Println("start", start.Task, "on machine", start.Machine)
	}
	must(s.Done("a")) // gives back what the first has claimed
	_, err = s.Round(context.Background(), now)
	must(err)
	fmt.Println("held:", ours.Usage()[0])
	// Output:
	// 2 run
	// start b on machine 0
	// held: 1
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
