package elastic_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/elastic"
	"github.com/cellsched/cellsched/resources"
)

// The same job under the paper's three policies. It asked for 11 workers out of
// habit; the cell of 1000 CPUs is half idle.
func ExamplePolicy_Plan() {
	job := elastic.MapReduce{Maps: 400, Reduces: 20, MapWork: 400 * time.Minute, ReduceWork: 40 * time.Minute}
	room := elastic.Room{Workers: 500, Used: resources.Vector{500}, Total: resources.Vector{1000}}

	for _, p := range []struct {
		name   string
		policy elastic.Policy
	}{
		{"as asked for", elastic.Policy{Times: 1}},
		{"relative job size", elastic.Policy{Times: 4}},
		{"global cap", elastic.Policy{Cap: 60}},
		{"max-parallelism", elastic.Policy{}},
	} {
		plan, err := p.policy.Plan(elastic.Job{
			Need: resources.Vector{1}, Asked: 11, Most: job.Parallelism(), Model: job.Time,
		}, room)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%-17s  %3d workers, %4.1f times as fast, stopped by: %v\n", p.name, plan.Workers, plan.Speedup, plan.Bound)
	}
	// Output:
	// as asked for        11 workers,  1.0 times as fast, stopped by: sized
	// relative job size   44 workers,  3.6 times as fast, stopped by: sized
	// global cap         100 workers,  6.7 times as fast, stopped by: capped
	// max-parallelism    400 workers, 13.3 times as fast, stopped by: parallelism
}

// A model of one's own: each worker more costs the master half a second, so that
// a job can have too many of them.
func ExampleModel() {
	const work = 20 * time.Minute
	plan, err := elastic.Policy{}.Plan(elastic.Job{
		Need:  resources.Vector{1},
		Asked: 5,
		Model: func(workers int) time.Duration {
			return work/time.Duration(workers) + time.Duration(workers)*time.Second/2
		},
	}, elastic.Room{Workers: 500, Total: resources.Vector{500}})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d workers take %v\n", plan.Workers, plan.Time.Round(time.Second))
	// Output: 49 workers take 49s
}

// A job grows into an idle cell. When a service wants the room it takes it from the
// extra workers, at once and without asking.
func ExampleTeam() {
	cell, _ := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "node-0", Capacity: resources.Vector{16}}}})
	batch, _ := cell.Register("mapreduce", omega.Limits{Lowest: 0, Highest: 9})
	service, _ := cell.Register("service", omega.Limits{Lowest: 5, Highest: 5})

	work := elastic.MapReduce{Maps: 64, MapWork: 64 * time.Minute}
	worker := elastic.Worker{Query: omega.Query{Need: resources.Vector{1}}, Precedence: 9, Extra: 0}
	team, _ := elastic.NewTeam(4, worker)

	room, _ := elastic.Look(batch.Snapshot(), worker.Query)
	plan, err := elastic.Policy{}.Plan(elastic.Job{
		Need: worker.Query.Need, Asked: 4, Held: team.Len(), Most: work.Parallelism(), Model: work.Time,
	}, room)
	if err != nil {
		panic(err)
	}
	if err := team.Resize(context.Background(), omega.Local{Scheduler: batch}, time.Time{}, plan.Workers); err != nil {
		panic(err)
	}
	fmt.Printf("%d workers, %d of them extra: done in %v\n", team.Len(), team.Extra(), work.Time(team.Len()))

	need := resources.Vector{10}
	machine, _ := cell.Machine("node-0")
	victims, _ := cell.Victims(machine, need, 5)
	tx := omega.Txn{Now: time.Unix(0, 0), Grace: omega.AtOnce}
	tx.Claim(omega.Claim{Machine: machine, Need: need, Precedence: 5, Victims: victims})
	granted, _ := service.Commit(&tx)
	fmt.Println("services placed:", granted)

	work = work.After(team.Len(), time.Minute) // it ran for a minute
	for mark := range batch.Marked() {
		team.Drop(mark.Allocation.ID)
		_ = batch.Release(mark.Allocation.ID) // the worker has stopped
	}
	fmt.Printf("%d workers, %d of them extra: done in %v\n", team.Len(), team.Extra(), work.Time(team.Len()))
	// Output:
	// 16 workers, 12 of them extra: done in 4m0s
	// services placed: 1
	// 6 workers, 2 of them extra: done in 8m0s
}
