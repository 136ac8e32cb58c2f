package trial

import (
	"slices"
	"time"

	"github.com/cellsched/cellsched/delay/late"
	"github.com/cellsched/cellsched/locality"
)

// History is a log of finished jobs, for [Tune].
type History struct {
	// Slots is the number of tasks that a node ran at a time.
	Slots int

	// Jobs are in the order in which they were served.
	Jobs []Past
}

// Past is a job of a [History]: the time of its submission, and its tasks.
type Past struct {
	Submit time.Duration
	Tasks  []Ran
}

// Ran is a finished task: its node and its run time.
type Ran struct {
	Node locality.Node
	Took time.Duration
}

// Tuned is the policy that [Tune] found, with the mean times of jobs.
type Tuned struct {
	Policy late.Policy

	// Mean is the average time of a job with it, Default with the zero policy, and
	// None without copies.
	Mean, Default, None time.Duration
}

// Gain returns the share of the zero policy's mean that is saved.
func (t Tuned) Gain() float64 { return 1 - float64(t.Mean)/float64(max(1, t.Default)) }

// Setup returns the trial of the history: the nodes that ran a task, in rising
// order, each with one speed, and the tasks with their work. Cost: O(tasks × log
// nodes).
//
// A node's speed is that of its tasks beside the mean of their jobs, weighted by
// the time they took, as in a [late.Book]. All other variation counts as a task's own,
// and a copy takes as long. So copies gain the cost of slow nodes in the trial, and
// a passing slowness counts for nothing.
//
// [late.ErrSize] reports a history without slots or jobs, a job without tasks, and a
// time that is not positive.
func (h History) Setup() (Setup, error) {
	if h.Slots < 1 || len(h.Jobs) == 0 {
		return Setup{}, refuse(late.ErrSize, "history: %d jobs on nodes of %d slots, want 1 or more of each", len(h.Jobs), h.Slots)
	}
	var nodes []locality.Node
	for i, job := range h.Jobs {
		if job.Submit < 0 || job.Submit > latest || len(job.Tasks) == 0 {
			return Setup{}, refuse(late.ErrSize, "history: job %d of %d tasks, submitted at %v, want 1 or more, at 0 to %v", i, len(job.Tasks), job.Submit, latest)
		}
		for k, ran := range job.Tasks {
			if ran.Took <= 0 || ran.Took > longest {
				return Setup{}, refuse(late.ErrSize, "history: task %d of job %d took %v, want more than 0, %v at most", k, i, ran.Took, longest)
			}
			nodes = append(nodes, ran.Node)
		}
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	index := func(n locality.Node) int {
		i, _ := slices.BinarySearch(nodes, n)
		return i
	}
	seen := make([]struct{ work, took float64 }, len(nodes))
	for _, job := range h.Jobs {
		sum := 0.0
		for _, ran := range job.Tasks {
			sum += float64(ran.Took)
		}
		for _, ran := range job.Tasks {
			s := &seen[index(ran.Node)]
			s.work += sum / float64(len(job.Tasks))
			s.took += float64(ran.Took)
		}
	}
	t := Setup{Slots: h.Slots}
	for _, s := range seen {
		t.Speeds = append(t.Speeds, []float64{min(max(s.work/s.took, slowest), fastest)})
	}
	for _, job := range h.Jobs {
		var stage Stage
		for _, ran := range job.Tasks {
			work := float64(ran.Took) * t.Speeds[index(ran.Node)][0]
			stage.Work = append(stage.Work, min(nanos(work), longest))
		}
		t.Jobs = append(t.Jobs, Load{job.Submit, []Stage{stage}})
	}
	return t, nil
}

// Tune replays a history with each policy of a grid, and returns the one with the
// least average time of a job. The grid is LATE, with caps of 5 to 40 % of the
// slots and several percentiles of slow tasks and slow nodes. Among equals it is
// the zero policy, or the first in the grid.
//
// The gain is that on the history itself. For the gain on another day, run the
// policy on that day's history: see [History.Setup]. Cost: 37 runs of the trial.
// Errors: as [History.Setup].
func Tune(h History) (Tuned, error) {
	trial, err := h.Setup()
	if err != nil {
		return Tuned{}, err
	}
	none, err := trial.Run(late.Policy{Rule: late.Never})
	if err != nil {
		return Tuned{}, err
	}
	standard, err := trial.Run(late.Policy{})
	if err != nil {
		return Tuned{}, err
	}
	best := Tuned{Mean: standard.Mean(), Default: standard.Mean(), None: none.Mean()}
	for _, p := range grid() {
		o, err := trial.Run(p)
		if err != nil {
			return Tuned{}, err
		}
		if mean := o.Mean(); mean < best.Mean {
			best.Policy, best.Mean = p, mean
		}
	}
	return best, nil
}

// grid returns the policies that Tune tries besides the zero policy.
func grid() (policies []late.Policy) {
	for _, limit := range []float64{0.05, 0.10, 0.20, 0.40} {
		for _, task := range []float64{0.15, 0.25, 0.40} {
			for _, node := range []float64{0.10, 0.25, 0.40} {
				p := late.Policy{Cap: limit, SlowTask: task, SlowNode: node}
				if p != (late.Policy{Cap: 0.10, SlowTask: 0.25, SlowNode: 0.25}) {
					policies = append(policies, p)
				}
			}
		}
	}
	return policies
}
