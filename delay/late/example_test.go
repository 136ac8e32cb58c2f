package late_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/delay/late"
	"github.com/cellsched/cellsched/locality"
)

// Four reduces run. The one on node 3 is slow, and node 1 has a free slot: it
// is told to run that one again. The copy is the first to finish.
func ExampleJob() {
	book, err := late.NewBook(late.Config{Nodes: 4, Slots: 8})
	if err != nil {
		panic(err)
	}
	job, err := late.New(late.Policy{SlowTask: 0.5}, 4, book)
	if err != nil {
		panic(err)
	}
	start := time.Date(2008, time.December, 8, 9, 0, 0, 0, time.UTC)
	names := map[late.Attempt]string{}
	var running []late.Attempt
	for node := range locality.Node(4) {
		a, err := job.Start(start, node)
		if err != nil {
			panic(err)
		}
		names[a] = fmt.Sprintf("reduce %d", node)
		running = append(running, a)
	}

	// After 90 s, three have sorted and half reduced; one still copies.
	now := start.Add(90 * time.Second)
	parts := late.Phases{1, 1, 1} // copy, sort, reduce
	for i, a := range running {
		phase, done := 2, 0.5
		if i == 3 {
			phase, done = 0, 0.3
		}
		progress, err := parts.Progress(phase, done)
		if err != nil {
			panic(err)
		}
		if err := job.Report(now, a, progress); err != nil {
			panic(err)
		}
	}
	for _, node := range []locality.Node{3, 1} {
		choice, err := job.Pick(now, node)
		if err != nil {
			panic(err)
		}
		fmt.Printf("node %d: %v", node, choice.Why)
		if choice.Why == late.Chosen {
			again, err := job.Copy(now, choice.Of, node)
			if err != nil {
				panic(err)
			}
			names[again] = "its copy"
			fmt.Printf(", %s has %v left", names[choice.Of], choice.Left.Round(time.Second))
			now = now.Add(2 * time.Minute)
			loser, _, err := job.Finish(now, again)
			if err != nil {
				panic(err)
			}
			fmt.Printf("\n%s is done, stop %s", names[again], names[loser])
		}
		fmt.Println()
	}
	// Output:
	// node 3: own node
	// node 1: chosen, reduce 3 has 13m30s left
	// its copy is done, stop reduce 3
}

// An original hangs; its copy wins, and what the original held is given back
// when it has stopped.
func ExampleRace() {
	var race late.Race[string]
	ctx, original, err := race.Enter(context.Background(), func() { fmt.Println("original: claim released") })
	if err != nil {
		panic(err)
	}
	_, again, err := race.Enter(context.Background(), func() { fmt.Println("copy: claim released") })
	if err != nil {
		panic(err)
	}

	fmt.Println("copy: won", again.Finish("42 lines"))
	fmt.Println("original:", context.Cause(ctx))
	original.Fail(context.Cause(ctx))

	result, err := race.Wait(context.Background())
	fmt.Println(result, err)
	// Output:
	// copy: claim released
	// copy: won true
	// original: late: another attempt has won
	// original: claim released
	// 42 lines <nil>
}
