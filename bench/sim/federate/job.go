package federate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// ErrConfig reports a configuration that makes no sense.
var ErrConfig = errors.New("federate: invalid configuration")

// Job is tasks that are submitted together. Each takes one slot.
type Job struct {
	Submit  time.Duration
	Lengths []time.Duration // of its tasks
}

// Cluster is the workers, and how they are divided and reached.
type Cluster struct {
	Globals, Locals, Workers int // Workers in all, with one slot each
	Delay                    time.Duration
	Heartbeat                time.Duration
	Seed                     uint64
}

func (c *Cluster) check(jobs []Job) error {
	if c.Globals < 1 || c.Locals < 1 || c.Workers < c.Locals || c.Delay < 0 || c.Heartbeat < 0 {
		return fmt.Errorf("%w: %d global and %d local masters, %d workers, delay %v, heartbeat %v: want 1 or more, a worker for each local master, and 0 or more",
			ErrConfig, c.Globals, c.Locals, c.Workers, c.Delay, c.Heartbeat)
	}
	for i := range jobs {
		if len(jobs[i].Lengths) == 0 || i > 0 && jobs[i].Submit < jobs[i-1].Submit {
			return fmt.Errorf("%w: job %d: %d tasks at %v: want one or more, in the order of submission", ErrConfig, i, len(jobs[i].Lengths), jobs[i].Submit)
		}
	}
	return nil
}

// Poisson returns jobs of so many tasks, at exponential intervals. The lengths of tasks are
// exponential around a mean. Slots are in use to the given load in the mean.
func Poisson(load float64, slots, tasks int, mean, span time.Duration, seed uint64) (jobs []Job) {
	r := rand.New(rand.NewPCG(seed, 1))
	interval := mean.Seconds() * float64(tasks) / (load * float64(slots))
	for at := r.ExpFloat64() * interval; at < span.Seconds(); at += r.ExpFloat64() * interval {
		j := Job{Submit: time.Duration(at * float64(time.Second))}
		for range tasks {
			j.Lengths = append(j.Lengths, time.Duration(r.ExpFloat64()*float64(mean)))
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// Even returns jobs of so many tasks of one length, at even intervals. Slots are in use to
// the given load.
func Even(load float64, slots, jobs, tasks int, length time.Duration) (all []Job) {
	interval := length.Seconds() * float64(tasks) / (load * float64(slots))
	for i := range jobs {
		all = append(all, Job{
			Submit:  time.Duration(float64(i) * interval * float64(time.Second)),
			Lengths: slices.Repeat([]time.Duration{length}, tasks),
		})
	}
	return all
}

// Result is the outcome of a run.
type Result struct {
	Waits     []time.Duration // of tasks, but those of the first quarter of the jobs; sorted
	Delays    []time.Duration // of the same jobs: from submission to the last end, less the longest task; sorted
	Sent      uint64          // launches
	Refused   uint64          // of them
	Borrowed  uint64          // of them, outside of the own partitions
	Processed uint64          // messages
}

// Quantile returns a quantile of sorted durations, 0 of none.
func Quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// meter collects a result. The first quarter of the jobs only fills the workers.
type meter struct {
	jobs   []Job
	left   []int
	first  int
	result Result
}

func newMeter(jobs []Job) *meter {
	m := &meter{jobs: jobs, first: len(jobs) / 4}
	for i := range jobs {
		m.left = append(m.left, len(jobs[i].Lengths))
	}
	return m
}

func (m *meter) started(job int, now time.Duration) {
	if job >= m.first {
		m.result.Waits = append(m.result.Waits, now-m.jobs[job].Submit)
	}
}

func (m *meter) ended(job int, now time.Duration) {
	if m.left[job]--; m.left[job] == 0 && job >= m.first {
		m.result.Delays = append(m.result.Delays, now-m.jobs[job].Submit-slices.Max(m.jobs[job].Lengths))
	}
}

func (m *meter) done() (*Result, error) {
	for i, left := range m.left {
		if left != 0 {
			return nil, fmt.Errorf("federate: job %d has %d tasks that have not ended", i, left)
		}
	}
	slices.Sort(m.result.Waits)
	slices.Sort(m.result.Delays)
	return &m.result, nil
}
