package delay_test

import (
	"fmt"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
)

// A task that reads its shard from the cache of a worker takes 2 s, and 12 s
// elsewhere. As long as that worker comes round within a second, tasks wait for
// it. Once it does not, the first ones wait in vain, each for less than the one
// before, and those after them no more.
func ExampleLearner() {
	learner := new(delay.Learner)
	for range 8 {
		_ = learner.Ran(0, 2*time.Second)
		_ = learner.Ran(1, 12*time.Second)
	}
	line, err := delay.NewQueue[int](delay.Policy{Learn: learner}, nil)
	if err != nil {
		panic(err)
	}
	now := time.Date(2010, time.April, 13, 9, 0, 0, 0, time.UTC)
	for job := range 40 {
		if err := line.Add(job, []locality.Node{0}); err != nil {
			panic(err)
		}
		gain, expected, _ := learner.Expect(0, 1)
		worker, waited := locality.Node(1), time.Duration(0)
		for {
			launch, ok, err := line.Offer(now, worker)
			if err != nil {
				panic(err)
			}
			if ok {
				if job%10 == 9 {
					fmt.Printf("job %d: expects to gain %v by %v of waiting, waits for %v, runs at level %d\n",
						job, gain, expected.Round(100*time.Millisecond), waited, launch.Level)
				}
				break
			}
			now, waited = now.Add(time.Second), waited+time.Second
			if job < 20 {
				worker = 0 // it has come round
			}
		}
	}
	// Output:
	// job 9: expects to gain 10s by 1s of waiting, waits for 1s, runs at level 0
	// job 19: expects to gain 10s by 1s of waiting, waits for 1s, runs at level 0
	// job 29: expects to gain 10s by 8.7s of waiting, waits for 4s, runs at level 1
	// job 39: expects to gain 10s by 10.1s of waiting, waits for 0s, runs at level 1
}
