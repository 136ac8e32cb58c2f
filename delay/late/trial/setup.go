package trial

import (
	"cmp"
	"slices"
	"time"

	"github.com/cellsched/cellsched/delay/late"
)

// Setup is a cell and its jobs, to try a [late.Policy] on in virtual time.
//
// A free slot takes the first waiting task of the first job that has one, in the
// order of the jobs. If no job has one, it takes a copy that the policy chooses.
// Slots report and are refilled at each heartbeat. No task is preempted: one that
// comes while copies run waits for a slot.
//
// Setups are plain values, read only by Run.
type Setup struct {
	// Slots is the number of tasks that a node runs at a time.
	Slots int

	// Speeds holds each node's speed, from 0.001 to 1000, in the first
	// period, in the second and so on; the last one stays.
	Speeds [][]float64

	// Sharing is how much the attempts on a node slow each other. Each of k
	// attempts runs at the node's speed over 1 + Sharing × (k-1). With 0 a copy
	// costs no more than its slot. With 1 the attempts divide one disk.
	Sharing float64

	// Period is the length of a speed's period; it is not needed if each node has
	// one speed.
	Period time.Duration

	// Heartbeat is the time between two reports of a node: three seconds by
	// default.
	Heartbeat time.Duration

	// Jobs are in the order in which they are served.
	Jobs []Load
}

// Load is a job of a [Setup]: the time of its submission, and its stages, which
// follow one another.
type Load struct {
	Submit time.Duration
	Stages []Stage
}

// Stage is a set of tasks that may run at the same time, such as the maps of a job
// or its reduces.
type Stage struct {
	// Work is the time that each task takes at speed 1.
	Work []time.Duration

	// Again is the time that a copy of each takes; nil is as long as the task.
	Again []time.Duration

	// Parts are the phases of the tasks, weighted by the work in them. Each counts
	// the same for a task's progress, as Hadoop's copy, sort and reduce do. Without
	// parts a task is one phase of even progress.
	Parts late.Phases
}

// Outcome is the result of a [Setup].
type Outcome struct {
	// Took is the time of each job, from its submission to the end of its last
	// task.
	Took []time.Duration

	// Copies is the number of copies that were started, and Won the number of them
	// that ended before their originals.
	Copies, Won int

	// Wasted is the slot time of attempts that lost.
	Wasted time.Duration
}

// Mean returns the average time of the jobs.
func (o Outcome) Mean() time.Duration {
	sum := 0.0
	for _, took := range o.Took {
		sum += float64(took) / float64(len(o.Took))
	}
	return nanos(sum)
}

// Limits of a trial: speeds, the work of a task, and submissions.
const (
	slowest = 0.001
	fastest = 1000
	longest = 365 * 24 * time.Hour
	latest  = 100 * longest
)

// Run tries a policy. The same setup and policy have the same outcome. Errors:
// [late.ErrPolicy] for the policy, [late.ErrSize] for sizes, speeds and times, [late.ErrCall]
// for phases. Cost: O(nodes × slots × jobs that are served) a heartbeat; none while
// there are no jobs.
func (t Setup) Run(p late.Policy) (Outcome, error) {
	t.Heartbeat = cmp.Or(t.Heartbeat, 3*time.Second)
	if err := t.check(); err != nil {
		return Outcome{}, err
	}
	r, err := newReplay(t, p)
	if err != nil {
		return Outcome{}, err
	}
	if err := r.run(); err != nil {
		return Outcome{}, err
	}
	return r.outcome, nil
}

func (t Setup) check() error {
	if len(t.Speeds) == 0 || t.Slots < 1 {
		return refuse(late.ErrSize, "%d nodes of %d slots, want 1 or more of each", len(t.Speeds), t.Slots)
	}
	if t.Heartbeat <= 0 || t.Heartbeat > longest || t.Period < 0 || t.Period > longest {
		return refuse(late.ErrSize, "heartbeat %v, period %v, want more than 0 and %v at most", t.Heartbeat, t.Period, longest)
	}
	if !(t.Sharing >= 0 && t.Sharing <= 1) { // NaN is neither
		return refuse(late.ErrSize, "sharing %v, want 0 to 1", t.Sharing)
	}
	for n, speeds := range t.Speeds {
		if len(speeds) == 0 || len(speeds) > 1 && t.Period <= 0 {
			return refuse(late.ErrSize, "node %d has %d speeds of %v each, want one, or several with a period of more than 0", n, len(speeds), t.Period)
		}
		for _, s := range speeds {
			if !(s >= slowest && s <= fastest) {
				return refuse(late.ErrSize, "node %d has speed %v, want %v to %v", n, s, slowest, fastest)
			}
		}
	}
	for i, load := range t.Jobs {
		if load.Submit < 0 || load.Submit > latest || len(load.Stages) == 0 {
			return refuse(late.ErrSize, "job %d of %d stages is submitted at %v, want 1 or more, and 0 to %v", i, len(load.Stages), load.Submit, latest)
		}
		for k := range load.Stages {
			if err := load.Stages[k].check(i, k); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Stage) check(job, stage int) error {
	if len(s.Work) == 0 || s.Again != nil && len(s.Again) != len(s.Work) {
		return refuse(late.ErrSize, "stage %d of job %d has %d tasks and %d copies, want 1 or more, and as many or none", stage, job, len(s.Work), len(s.Again))
	}
	for k, work := range slices.Concat(s.Work, s.Again) {
		if work < 0 || work > longest {
			return refuse(late.ErrSize, "task %d of job %d, stage %d, has work of %v, want 0 to %v", k%len(s.Work), job, stage, work, longest)
		}
	}
	_, err := s.Parts.Progress(0, 0)
	return err
}
