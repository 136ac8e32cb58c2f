package file_test

import (
	"context"
	"fmt"
	"os"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/file"
	"github.com/cellsched/cellsched/resources"
)

// A scheduler claims a machine and its process ends. The next process takes the scheduler
// and finds the allocation.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "cell")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()
	process := func(work func(s *omega.Scheduler)) {
		store, err := file.Open(folder)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer store.Close()
		cell, err := journal.Open(ctx, store, journal.Config{First: omega.Config{
			Machines: []omega.Machine{{Name: "node-1", Capacity: resources.Vector{4}}},
		}})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer func() { _ = cell.Close(ctx) }()
		s, err := cell.Take(ctx, "batch", omega.Limits{})
		if err != nil {
			fmt.Println(err)
			return
		}
		work(s)
	}

	process(func(s *omega.Scheduler) {
		m, _ := s.Cell().Machine("node-1")
		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{3}})
		granted, err := s.CommitContext(ctx, &tx)
		fmt.Println(granted, "granted, error", err)
	})
	process(func(s *omega.Scheduler) {
		for a := range s.Allocations() {
			fmt.Println("still there:", a.ID, "of", a.Need[0])
		}
	})
	// Output:
	// 1 granted, error <nil>
	// still there: 0/0/2 of 3
}
