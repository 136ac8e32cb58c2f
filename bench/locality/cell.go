package main

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
)

// cell is the simulated cell: nodes with slots that are offered to jobs.
type cell struct {
	nodes, slots int // slots of each node

	// backlog is the number of jobs to choose from at any time; 0 has them come
	// at their time.
	backlog int

	// beat is the interval at which a node with idle slots offers them. A slot that
	// becomes free is offered at once, or if late at the next beat.
	beat time.Duration
	late bool

	// gap and load are how long a slot is idle, and then busy with work that is
	// not simulated otherwise; nil for no such work.
	gap, load func() time.Duration
}

// job is a set of tasks that are submitted at one time.
type job struct {
	at    time.Duration // when it comes
	tasks []task
}

// task is a piece of a job.
type task struct {
	holders   []locality.Node // of its data; none is for a task without preference
	near, far time.Duration   // how long it takes where its data is, and elsewhere
}

func (t *task) run(l locality.Level) time.Duration {
	if l == 0 {
		return t.near
	}
	return t.far
}

// scheduler decides which job's task a slot is for.
type scheduler interface {
	// add has a job wait.
	add(number int, j *job) error
	// offer gives a slot of n away, or not.
	offer(now time.Duration, n locality.Node) (delay.Launch[int], bool, error)
	// ended notes the end of a task.
	ended(l delay.Launch[int], t *task) error
	// waiting returns how many jobs have pending tasks.
	waiting() int
}

// outcome is the result for the jobs.
type outcome struct {
	launches []launch
	jobs     []completion // by number
	end      time.Duration
}

type launch struct {
	job    int
	local  bool
	choosy bool // it was to be local somewhere
}

type completion struct {
	at, took time.Duration
	left     int // tasks
}

// of returns figures of the jobs that keep selects: the share of tasks that ran where
// their data is, from some launch on, and the mean time of a job in seconds.
func (o *outcome) of(keep func(job int) bool, from int) (local, mean float64) {
	near, launches := 0, 0
	for _, l := range o.launches[min(from, len(o.launches)):] {
		if l.choosy && keep(l.job) {
			launches++
			if l.local {
				near++
			}
		}
	}
	sum, jobs := 0.0, 0
	for i, c := range o.jobs {
		if c.left == 0 && keep(i) {
			jobs++
			sum += c.took.Seconds()
		}
	}
	return float64(near) / float64(max(launches, 1)), sum / float64(max(jobs, 1))
}

// anyJob keeps all jobs.
func anyJob(int) bool { return true }

// spread returns n different nodes out of so many, at random.
func spread(random *rand.Rand, nodes, n int) []locality.Node {
	at := make([]locality.Node, 0, n)
	for len(at) < min(n, nodes) {
		if node := locality.Node(random.IntN(nodes)); !slices.Contains(at, node) {
			at = append(at, node)
		}
	}
	return at
}

// between returns a time at random, evenly from low to high.
func between(random *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(random.Int64N(int64(high-low)+1))
}
