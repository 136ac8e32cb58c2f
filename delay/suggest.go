package delay

import (
	"math"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Load is what decides how long a wait brings tasks near their data: many small
// jobs that share a cell whose slots are all busy, and blocks of data that are
// placed at random.
type Load struct {
	Tasks    int           // of a job
	Nodes    int           // of the cell
	Replicas int           // nodes that hold a task's data
	Slots    int           // of a node
	Task     time.Duration // how long a task runs, in the mean
}

// margin is by how much the suggestion exceeds the paper's bound. That counts
// one launch far away for each time that a wait runs out, and the rules have
// as many as come until the next one near.
const margin = 1.6

// Suggest returns how many offers a job should pass up ([Policy].Skips), or how
// long it should wait for a node ([Waits] at 0), so that the share local of
// its tasks is launched at level 0.
//
// It is 1.6 times the bound of EuroSys 2010, which alone is optimistic. In
// simulations of 100 nodes of 4 slots with 3 replicas, for a share of 95 %, both
// numbers bring jobs of 3, 10, 20 and 100 tasks there, by the default rule and by
// the paper's (go test -run Suggests ./delay, go -C bench run ./locality).
//
// A job with fewer tasks needs a longer wait, so where all have the same
// policy, ask for a small one. A share that is not between 0 and 1, and numbers
// that are not positive, fail with [resources.ErrQuantity].
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
