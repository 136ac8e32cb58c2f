package omega_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// One goroutine places a gang of two tasks and reacts to preemption: it waits for
// either.
func ExampleScheduler_Wait_gang() {
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "node-0", Capacity: resources.Vector{2}}}})
	if err != nil {
		panic(err)
	}
	batch, _ := cell.Register("batch", omega.Limits{})
	service, _ := cell.Register("service", omega.Limits{Highest: 1})
	node0, _ := cell.Machine("node-0")
	unit := resources.Vector{1}
	claim := func(s *omega.Scheduler, claims ...omega.Claim) (granted []omega.AllocationID) {
		tx := omega.Txn{Gang: true, Now: time.Now(), Grace: omega.AtOnce}
		for _, c := range claims {
			c.Machine, c.Need = node0, unit
			tx.Claim(c)
		}
		if _, err := s.Commit(&tx); err != nil {
			panic(err)
		}
		for i := range claims {
			if a, ok := tx.Allocation(i); ok {
				granted = append(granted, a)
			}
		}
		return granted
	}

	task := claim(batch, omega.Claim{})
	used := claim(service, omega.Claim{}, omega.Claim{Precedence: 1, Victims: task})
	for {
		if err := batch.Wait(context.Background(), unit, unit); err != nil {
			panic(err)
		}
		for m := range batch.Marked() {
			fmt.Println("task", m.Fate, "by", m.By)
			_ = batch.Release(m.Allocation.ID) // it has stopped
			for _, a := range used {
				_ = service.Release(a) // the service ends
			}
		}
		if gang := claim(batch, omega.Claim{}, omega.Claim{}); len(gang) > 0 {
			fmt.Println("gang of", len(gang), "placed")
			break
		}
	}
	fmt.Println(batch.Wait(context.Background(), resources.Vector{3}))
	// Output:
	// task preempted by service
	// gang of 2 placed
	// omega: scheduler "batch": need kind0=3, largest of 1 machines kind0=2, missing kind0=1: need can never fit
}

// A goroutine that runs the work learns that a task is preempted, while another one
// places.
func ExampleScheduler_WaitMark() {
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "node-0", Capacity: resources.Vector{1}}}})
	if err != nil {
		panic(err)
	}
	batch, _ := cell.Register("batch", omega.Limits{})
	service, _ := cell.Register("service", omega.Limits{Highest: 1})
	node0, _ := cell.Machine("node-0")
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: node0, Need: resources.Vector{1}})
	_, _ = batch.Commit(&tx)
	task, _ := tx.Allocation(0)

	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if err := batch.WaitMark(context.Background()); err != nil {
			panic(err)
		}
		for m := range batch.Marked() {
			fmt.Println("stop the task, it is", m.Fate, "by", m.By)
			_ = batch.Release(m.Allocation.ID)
		}
	}()

	tx.Reset()
	tx.Now, tx.Grace = time.Now(), omega.AtOnce
	tx.Claim(omega.Claim{Machine: node0, Need: resources.Vector{1}, Precedence: 1, Victims: []omega.AllocationID{task}})
	_, _ = service.Commit(&tx)
	<-stopped
	// Output:
	// stop the task, it is preempted by service
}
