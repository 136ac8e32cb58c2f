package delay

import (
	"math"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Load describes the cell and the jobs that a wait is suggested for: many small
// jobs on slots that are all busy, with blocks of data placed at random.
type Load struct {
	Tasks    int           // of a job
	Nodes    int           // of the cell
	Replicas int           // nodes that hold a task's data
	Slots    int           // of a node
	Task     time.Duration // how long a task runs, in the mean
}

// margin is the factor of the suggestion over the paper's bound. The bound counts
// one launch far away for each wait that runs out. By the rules there may be
// several until the next launch near the data.
const margin = 1.6

// Suggest returns a policy for a share local of a job's tasks launched at level 0.
// Skips is the number of offers to pass up ([Policy].Skips). Wait is the time to
// wait for a node ([Waits] at 0).
//
// It is 1.6 times the bound of EuroSys 2010, which alone is optimistic. Simulations
// with 100 nodes of 4 slots and 3 replicas confirm it for a share of 95 %. Both
// numbers bring jobs of 3, 10, 20 and 100 tasks there, by the default rule and by
// the paper's (go test -run Suggests ./delay, go -C bench run ./locality).
//
// A job with fewer tasks needs a longer wait: for one policy of all jobs, pass a
// small job. A share that is not between 0 and 1, and numbers that are not
// positive, fail with [resources.ErrQuantity].
func (l Load) Suggest(local float64) (skips int, wait time.Duration, err error) {
	if !(local > 0 && local < 1) {
		return 0, 0, refuse(resources.ErrQuantity, "suggest: local share = %v, want more than 0 and less than 1", local)
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"tasks", int64(l.Tasks)},
		{"nodes", int64(l.Nodes)},
		{"replicas", int64(l.Replicas)},
		{"slots", int64(l.Slots)},
		{"task time", int64(l.Task)},
	} {
		if n.value <= 0 {
			return 0, 0, refuse(resources.ErrQuantity, "suggest: %s = %d, want more than 0", n.name, n.value)
		}
	}
	d := margin * l.bound(local)
	between := float64(l.Task) / float64(l.Slots) / float64(l.Nodes) // slots that become free
	skips, wait = math.MaxInt, math.MaxInt64
	if n := math.Ceil(d); n < math.MaxInt {
		skips = int(n)
	}
	if n := math.Ceil(max(d, 1) * between); n < math.MaxInt64 {
		wait = time.Duration(n)
	}
	return skips, wait, nil
}

// bound is the paper's number of offers to pass up.
func (l Load) bound(local float64) float64 {
	missed := (1 - local) * float64(l.Tasks)
	return max(0, float64(l.Nodes)/float64(l.Replicas)*math.Log1p(1/missed))
}
