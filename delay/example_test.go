package delay_test

import (
	"fmt"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
)

// A task wants the shard that worker 0 has in its cache. Worker 0 is busy; the
// others become free one by one. The task holds out for its worker, then for
// the rack, and once more for neither.
func Example() {
	workers, err := locality.New(locality.Config{
		Levels: []string{"node", "rack", "any"},
		Nodes:  []string{"r1", "r1", "r2", "r2"},
	})
	if err != nil {
		panic(err)
	}
	task, err := delay.New(delay.Policy{Waits: delay.Waits{
		locality.NodeLocal: 3 * time.Second,
		locality.RackLocal: 5 * time.Second,
	}})
	if err != nil {
		panic(err)
	}

	start := time.Date(2010, time.April, 13, 9, 0, 0, 0, time.UTC)
	for _, free := range []struct {
		after  time.Duration
		worker locality.Node
	}{
		{0 * time.Second, 2},
		{1 * time.Second, 1},
		{2 * time.Second, 3},
		{4 * time.Second, 1},
	} {
		now := start.Add(free.after)
		level := workers.Level(free.worker, 0)
		decision, err := task.Offer(now, level)
		if err != nil {
			panic(err)
		}
		if decision.Launch {
			fmt.Printf("%v: worker %d (%s): launch\n", free.after, free.worker, workers.LevelName(level))
			break
		}
		fmt.Printf("%v: worker %d (%s): wait, nothing farther than %s yet\n",
			free.after, free.worker, workers.LevelName(level), workers.LevelName(decision.Level))
	}
	// Output:
	// 0s: worker 2 (any): wait, nothing farther than node yet
	// 1s: worker 1 (rack): wait, nothing farther than node yet
	// 2s: worker 3 (any): wait, nothing farther than node yet
	// 4s: worker 1 (rack): launch
}

// A caller that has a free worker on its hands sets one timer: to the moment
// at which the job would take it.
func ExampleJob_NextRelax() {
	job, err := delay.New(delay.Policy{Waits: delay.Waits{3 * time.Second, 5 * time.Second}})
	if err != nil {
		panic(err)
	}
	start := time.Date(2010, time.April, 13, 9, 0, 0, 0, time.UTC)
	now := start
	for range 3 {
		decision, err := job.Offer(now, 2) // the only free worker is far away
		if err != nil {
			panic(err)
		}
		if decision.Launch {
			fmt.Println("launch after", now.Sub(start))
			return
		}
		next, ok := job.NextRelax(now)
		if !ok {
			fmt.Println("not waiting by time")
			return
		}
		fmt.Println("sleep for", next.Sub(now))
		now = next
	}
	// Output:
	// sleep for 3s
	// sleep for 5s
	// launch after 8s
}

// Counting offers needs no clock. After two skips the job takes far nodes one
// after the other, until a local launch makes it choosy again.
func ExamplePolicy_skips() {
	job, err := delay.New(delay.Policy{Skips: 2})
	if err != nil {
		panic(err)
	}
	for _, level := range []locality.Level{2, 2, 2, 2, 0, 2} {
		decision, err := job.Offer(time.Time{}, level)
		if err != nil {
			panic(err)
		}
		fmt.Printf("level %d: launch %-5v skips %d\n", level, decision.Launch, job.Skips())
	}
	// Output:
	// level 2: launch false skips 1
	// level 2: launch false skips 2
	// level 2: launch true  skips 2
	// level 2: launch true  skips 2
	// level 0: launch true  skips 0
	// level 2: launch false skips 1
}

// One worker holds the data of all tasks and is free again every 2 s, before
// the wait of 3 s is over. By the paper's rule the job never tries another
// worker; here it does once they have idled for as long as it is to wait.
func ExamplePolicy_paper() {
	start := time.Date(2010, time.April, 13, 9, 0, 0, 0, time.UTC)
	for _, paper := range []bool{true, false} {
		job, err := delay.New(delay.Policy{Waits: delay.Waits{3 * time.Second}, Paper: paper})
		if err != nil {
			panic(err)
		}
		near, far := 0, 0
		for second := range 60 {
			now := start.Add(time.Duration(second) * time.Second)
			level := locality.Level(2)
			if second%2 == 1 {
				level = locality.NodeLocal
			}
			decision, err := job.Offer(now, level)
			if err != nil {
				panic(err)
			}
			switch {
			case decision.Launch && level == locality.NodeLocal:
				near++
			case decision.Launch:
				far++
			}
		}
		fmt.Printf("paper %-5v: %d launches near the data, %d elsewhere\n", paper, near, far)
	}
	// Output:
	// paper true : 30 launches near the data, 0 elsewhere
	// paper false: 30 launches near the data, 24 elsewhere
}

// Three jobs stand in line, the first two for the shard that worker 0 has in
// its cache. Worker 1 is free: it goes to the third. The first gets worker 0, and
// may wait for it again. The second has waited for 3 s in vain: it takes worker 2.
func ExampleQueue() {
	line, err := delay.NewQueue[string](delay.Policy{Waits: delay.Waits{3 * time.Second}}, nil)
	if err != nil {
		panic(err)
	}
	shard := []locality.Node{0}
	for _, job := range []string{"report", "index"} {
		if err := line.Add(job, shard, shard); err != nil {
			panic(err)
		}
	}
	if err := line.Add("query", []locality.Node{1, 2}); err != nil {
		panic(err)
	}

	start := time.Date(2010, time.April, 13, 9, 0, 0, 0, time.UTC)
	for _, free := range []struct {
		after  time.Duration
		worker locality.Node
	}{
		{0 * time.Second, 1},
		{1 * time.Second, 1},
		{2 * time.Second, 0},
		{3 * time.Second, 1},
		{4 * time.Second, 2},
	} {
		launch, ok, err := line.Offer(start.Add(free.after), free.worker)
		if err != nil {
			panic(err)
		}
		if !ok {
			fmt.Printf("%v: worker %d idles\n", free.after, free.worker)
			continue
		}
		fmt.Printf("%v: worker %d: %s, task %d, at level %d\n", free.after, free.worker, launch.Job, launch.Task, launch.Level)
	}
	// Output:
	// 0s: worker 1: query, task 0, at level 0
	// 1s: worker 1 idles
	// 2s: worker 0: report, task 0, at level 0
	// 3s: worker 1 idles
	// 4s: worker 2: index, task 0, at level 1
}
