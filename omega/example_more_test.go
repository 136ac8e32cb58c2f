package omega_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A service needs room on a full machine and takes the place of batch work. The owner of
// the work has ten seconds to stop it. The service may start by then, or as soon as the
// owner has released the room.
func ExampleCell_Victims() {
	cell, space := exampleCell()
	batch, _ := cell.Register("batch", omega.Limits{})
	service, _ := cell.Register("service", omega.Limits{Lowest: 100, Highest: 200})
	node0, _ := cell.Machine("node-0")
	need, _ := space.Parse("cpu=2,memory=2Gi")

	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: node0, Need: need})
	tx.Claim(omega.Claim{Machine: node0, Need: need})
	if _, err := batch.Commit(&tx); err != nil {
		panic(err)
	}

	victims, _ := cell.Victims(node0, need, 100)
	now := time.Date(2013, 4, 15, 12, 0, 0, 0, time.UTC)
	preempting := omega.Txn{Now: now, Grace: 10 * time.Second}
	preempting.Claim(omega.Claim{Machine: node0, Need: need, Precedence: 100, Victims: victims})
	if _, err := service.Commit(&preempting); err != nil {
		panic(err)
	}
	a, _ := preempting.Allocation(0)
	at, _ := cell.ReadyAt(a)
	fmt.Println("granted, starts in", at.Sub(now))

	for m := range batch.Marked() {
		fmt.Println("batch:", m.Fate, "by", m.By, "- stops in", m.Until.Sub(now))
		_ = batch.Release(m.Allocation.ID)
	}
	at, _ = cell.ReadyAt(a)
	fmt.Println("starts at once:", at.IsZero())
	// Output:
	// granted, starts in 10s
	// batch: preempted by service - stops in 10s
	// starts at once: true
}

// An offer is a claim that another scheduler may turn into claims of its own, in one
// step. No other claim can take the room in between.
func ExampleTxn_Exchange() {
	cell, space := exampleCell()
	master, _ := cell.Register("master", omega.Limits{})
	framework, _ := cell.Register("framework", omega.Limits{})
	node0, _ := cell.Machine("node-0")
	all, _ := space.Parse("cpu=4,memory=8Gi")
	task, _ := space.Parse("cpu=1,memory=2Gi")

	var offering omega.Txn
	offering.Claim(omega.Claim{Machine: node0, Need: all, Grantee: framework})
	if _, err := master.Commit(&offering); err != nil {
		panic(err)
	}
	offer, _ := offering.Allocation(0)

	ads, _ := cell.Account(context.Background(), "ads")
	var accepting omega.Txn
	accepting.Exchange([]omega.AllocationID{offer},
		omega.Claim{Machine: node0, Account: ads, Need: task},
		omega.Claim{Machine: node0, Account: ads, Need: task})
	granted, _ := framework.Commit(&accepting)
	used, _ := cell.Usage(ads)
	state, _ := cell.State(node0)
	fmt.Println(granted, "tasks,", space.Format(used), "for ads")
	fmt.Println("free again:", space.Format(state.Free))
	fmt.Println("the offer:", errors.Is(master.Release(offer), omega.ErrReleased))
	// Output:
	// 2 tasks, cpu=2,memory=4Gi for ads
	// free again: cpu=2,memory=4Gi
	// the offer: true
}

// A whole job is placed at once. Explain gives the reason for tasks that do not fit.
func ExampleSnapshot_Place() {
	cell, space := exampleCell()
	s, _ := cell.Register("batch", omega.Limits{})
	need, _ := space.Parse("cpu=1500m,memory=1Gi")
	snap, query := s.Snapshot(), omega.Query{Need: need}

	var tx omega.Txn
	placed := snap.Place(query, omega.BestFit(), 6, func(m omega.MachineID, tasks int) {
		fmt.Println(tasks, "tasks on node", m.Node())
		for range tasks {
			tx.Claim(omega.Claim{Machine: m, Need: need})
		}
	})
	fmt.Println(placed, "of 6:", snap.Explain(query).Format(space))
	granted, _ := s.Commit(&tx)
	fmt.Println(granted, "granted")
	// Output:
	// 2 tasks on node 0
	// 2 tasks on node 1
	// 4 of 6: 0 of 2 machines will do, 2 short of cpu, missing cpu=500m on the nearest
	// 4 granted
}

// A scheduler that finds no room sleeps until some is freed that is enough.
func ExampleScheduler_Wait() {
	cell, space := exampleCell()
	holder, _ := cell.Register("holder", omega.Limits{})
	late, _ := cell.Register("late", omega.Limits{})
	all, _ := space.Parse("cpu=4,memory=8Gi")

	var tx omega.Txn
	for m := range cell.Machines() {
		tx.Claim(omega.Claim{Machine: m.ID, Need: all})
	}
	if _, err := holder.Commit(&tx); err != nil {
		panic(err)
	}
	_, found := late.Snapshot().Find(omega.Query{Need: all}, omega.NextFit())
	fmt.Println("found at first:", found)

	a, _ := tx.Allocation(1)
	go func() { _ = holder.Release(a) }()

	if err := late.Wait(context.Background(), all); err != nil {
		panic(err)
	}
	m, found := late.Snapshot().Find(omega.Query{Need: all}, omega.NextFit())
	fmt.Println("found then:", found, "on node", m.Node())
	// Output:
	// found at first: false
	// found then: true on node 1
}

// Machines of a cut are of one moment, so that their amounts can be added up.
func ExampleCell_Cut() {
	cell, space := exampleCell()
	s, _ := cell.Register("batch", omega.Limits{})
	need, _ := space.Parse("cpu=3")
	for m := range cell.Machines() {
		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: m.ID, Need: need})
		if _, err := s.Commit(&tx); err != nil {
			panic(err)
		}
	}

	var capacity, used resources.Vector
	for m, allocations := range cell.Cut().Machines() {
		capacity = capacity.Add(m.Capacity)
		for _, a := range allocations {
			used = used.Add(a.Need)
		}
	}
	fmt.Println(space.Format(used), "of", space.Format(capacity))
	// Output:
	// cpu=6 of cpu=8,memory=16Gi
}

// The scheduler of that name hangs. Its successor has all its allocations, and later
// calls of the old one are refused.
func ExampleCell_Replace() {
	cell, space := exampleCell()
	old, _ := cell.Register("batch", omega.Limits{})
	need, _ := space.Parse("cpu=1")
	node0, _ := cell.Machine("node-0")
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: node0, Need: need})
	if _, err := old.Commit(&tx); err != nil {
		panic(err)
	}

	successor, _ := cell.Replace("batch")
	tx.Reset()
	tx.Claim(omega.Claim{Machine: node0, Need: need})
	_, err := old.Commit(&tx)
	fmt.Println(err)
	for a := range successor.Allocations() {
		fmt.Println("epoch", successor.Epoch(), "has", space.Format(a.Need))
	}
	// Output:
	// omega: scheduler was replaced by a successor: "batch", epoch 0
	// epoch 1 has cpu=1
}

// A manager is replaced: none of its workers can commit after that, though they have not
// been told.
func ExampleScheduler_Deputy() {
	cell, space := exampleCell()
	node, _ := cell.Machine("node-1")
	manager, _ := cell.Register("manager", omega.Limits{})
	worker, _ := manager.Deputy("worker", omega.Limits{})

	need, _ := space.Parse("cpu=1")
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: node, Need: need})
	granted, err := worker.Commit(&tx)
	fmt.Println(granted, err)

	successor, _ := cell.Replace("manager")
	tx.Reset()
	tx.Claim(omega.Claim{Machine: node, Need: need})
	_, err = worker.Commit(&tx)
	fmt.Println(err)

	worker, _ = successor.Deputy("worker", omega.Limits{})
	fmt.Println(worker.Epoch(), space.Format(worker.Usage()))
	// Output:
	// 1 <nil>
	// omega: scheduler was replaced by a successor: "manager", epoch 0, and with it "worker"
	// 1 cpu=1
}
