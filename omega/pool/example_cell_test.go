package pool_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// A service and a batch scheduler share one cell. The pool of the service holds what its
// leases need, and batch has the rest.
func ExampleConfig_cell() {
	cell, err := omega.NewCell(omega.Config{
		Machines: []omega.Machine{{Name: "node-0", Capacity: resources.Vector{4}}},
	})
	if err != nil {
		panic(err)
	}
	requests, err := pool.New(pool.Config{Cell: cell, Chunk: 1})
	if err != nil {
		panic(err)
	}
	batch, err := cell.Register("batch", omega.Limits{})
	if err != nil {
		panic(err)
	}

	ctx := context.Background()
	lease, err := requests.Acquire(ctx, "anna", resources.Vector{3})
	if err != nil {
		panic(err)
	}
	snap := batch.Snapshot()
	snap.Refresh(time.Now())
	_, ok := snap.Find(omega.Query{Need: resources.Vector{2}}, omega.NextFit())
	fmt.Println("batch finds room for 2:", ok)

	// Batch waits in the cell, and has the room once the lease is released.
	_ = lease.Release()
	if err := batch.Wait(ctx, resources.Vector{4}); err != nil {
		panic(err)
	}
	m, _ := snap.Find(omega.Query{Need: resources.Vector{4}}, omega.NextFit())
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{4}})
	granted, err := batch.Commit(&tx)
	fmt.Println("batch was granted:", granted, err)

	// Now the pool waits, until batch gives the room back.
	task, _ := tx.Allocation(0)
	go func() { _ = batch.Release(task) }()
	lease, err = requests.Acquire(ctx, "anna", resources.Vector{3})
	fmt.Println("anna was granted:", lease.Need()[0], err)
	_ = lease.Release()
	if err := requests.Close(ctx); err != nil {
		panic(err)
	}
	anna, _ := cell.Account(context.Background(), "anna")
	used, _ := cell.Usage(anna)
	fmt.Println("the pool has returned all:", used[0], cell.Check())
	// Output:
	// batch finds room for 2: false
	// batch was granted: 1 <nil>
	// anna was granted: 3 <nil>
	// the pool has returned all: 0 <nil>
}
