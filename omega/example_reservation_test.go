package omega_test

import (
	"fmt"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A machine of 4 is full of units, each of which is refilled as it ends. A task of 3 gets
// the room that becomes free once it has a reservation.
func ExampleTxn_Reserve() {
	cell, _ := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{4}}}})
	m, _ := cell.Machine("m")
	small, _ := cell.Register("small", omega.Limits{})
	large, _ := cell.Register("large", omega.Limits{})

	var tx omega.Txn
	refill := func() int {
		tx.Reset()
		for range 4 {
			tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{1}})
		}
		granted, _ := small.Commit(&tx)
		return granted
	}
	fmt.Println("units granted:", refill())
	var units []omega.AllocationID
	for i := range tx.Len() {
		id, _ := tx.Allocation(i)
		units = append(units, id)
	}

	var task omega.Txn
	now := time.Unix(0, 0)
	task.Reserve(now.Add(time.Hour), omega.Claim{Machine: m, Need: resources.Vector{3}})
	_, _ = large.Commit(&task)
	for _, id := range units[:3] {
		_ = small.Release(id)
		fmt.Println("units granted:", refill())
	}

	large.Snapshot().Refresh(now)
	for r := range large.Snapshot().Reservations() {
		fmt.Println("ready:", r.Ready)
		task.Reset()
		task.Claim(r.Claims[0])
		granted, _ := large.Commit(&task)
		fmt.Println("tasks granted:", granted)
	}
	// Output:
	// units granted: 4
	// units granted: 0
	// units granted: 0
	// units granted: 0
	// ready: true
	// tasks granted: 1
}
