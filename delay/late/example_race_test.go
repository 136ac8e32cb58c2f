package late_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/delay/late"
	"github.com/cellsched/cellsched/locality"
)

// A job with a straggler, in virtual time: five tasks of two minutes, one on each
// of five nodes. Node 4 is ten times as slow. The first node that is done runs that
// task again, and the copy wins the race: the job takes four minutes instead of
// twenty.
func Example() {
	type run struct {
		task    int
		node    locality.Node
		attempt late.Attempt
		entry   *late.Entry[string]
		lost    func() error
		done    float64
	}
	book, _ := late.NewBook(late.Config{Nodes: 5, Slots: 5})
	job, _ := late.New(late.Policy{}, 5, book)
	races := make([]late.Race[string], 5)
	start := time.Date(2008, time.December, 8, 9, 0, 0, 0, time.UTC)
	clock := time.Duration(0)

	var slots [5]*run // by node
	launch := func(task int, node locality.Node, attempt late.Attempt) {
		release := func() { fmt.Printf("%v: task %d leaves node %d\n", clock, task, node) }
		ctx, entry, err := races[task].Enter(context.Background(), release)
		if err != nil {
			panic(err)
		}
		lost := func() error { return context.Cause(ctx) }
		slots[node] = &run{task: task, node: node, attempt: attempt, entry: entry, lost: lost}
	}
	for i := range 5 {
		attempt, _ := job.Start(start, locality.Node(i))
		launch(i, locality.Node(i), attempt)
	}
	for left := 5; left > 0; {
		clock += 15 * time.Second
		now := start.Add(clock)
		for i, r := range slots {
			if r == nil {
				continue
			}
			if r.node == 4 {
				r.done += 0.1 * 15 / 120
			} else {
				r.done += 15.0 / 120
			}
			switch {
			case r.lost() != nil: // the other attempt has won
				r.entry.Fail(r.lost())
				slots[i] = nil
			case r.done >= 1:
				_, raced, _ := job.Finish(now, r.attempt)
				if r.entry.Finish("sorted") && raced {
					fmt.Printf("%v: the copy has won\n", clock)
				}
				slots[i] = nil
				left--
			default:
				_ = job.Report(now, r.attempt, r.done)
			}
		}
		for i := range slots {
			if slots[i] != nil {
				continue
			}
			node := locality.Node(i)
			if choice, _ := job.Pick(now, node); choice.Why == late.Chosen {
				attempt, _ := job.Copy(now, choice.Of, node)
				fmt.Printf("%v: task 4 has %v left, node %d runs it too\n", clock, choice.Left.Round(time.Second), node)
				launch(4, node, attempt)
			}
		}
	}
	result, err := races[4].Wait(context.Background())
	fmt.Println("task 4:", result, err)
	// Output:
	// 2m0s: task 0 leaves node 0
	// 2m0s: task 1 leaves node 1
	// 2m0s: task 2 leaves node 2
	// 2m0s: task 3 leaves node 3
	// 2m0s: task 4 has 18m0s left, node 0 runs it too
	// 4m0s: task 4 leaves node 0
	// 4m0s: the copy has won
	// 4m0s: task 4 leaves node 4
	// task 4: sorted <nil>
}
