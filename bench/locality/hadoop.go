package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
)

const (
	// nearer is the run time of a task where its data is, by that of the tasks of
	// its job that ran elsewhere. It is the mean of the 35 in this log and the other
	// one.
	nearer = 0.82

	// idle is the time for which a slot is free, in run times of its other work: a
	// ninth makes 90 % busy.
	idle = 1.0 / 9

	// heard is the heartbeat interval of a node of Hadoop's.
	heard = 3 * time.Second

	// begun is the time for which the cell is busy before the first job comes.
	begun = 10 * time.Minute

	// replays is the number of replays of the log, each beside another load.
	replays = 10
)

// cluster is the known part of the cell that a log is of.
type cluster struct {
	jobs   []*job
	nodes  int // that have data
	runs   []time.Duration
	choosy int // tasks that prefer nodes
	wide   int // jobs that have any
}

// readLog reads the map tasks of a log and where their data was.
func readLog(folder string) (c *cluster, err error) {
	path := filepath.Join(folder, "folder-input-trace.json.gz")
	file, err := trace.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	c = new(cluster)
	numbers := make(map[string]locality.Node)
	var first time.Duration
	for j, err := range trace.Sorted(path, trace.Rumen(path, file), 1024) {
		if err != nil {
			return nil, err
		}
		if len(c.jobs) == 0 {
			first = j.Submit
		}
		c.add(&j, j.Submit-first+begun, numbers)
	}
	c.nodes = len(numbers)
	return c, nil
}

// add adds the map tasks of a job, if it has any, and numbers their nodes.
func (c *cluster) add(j *trace.Job, at time.Duration, numbers map[string]locality.Node) {
	maps := &job{at: at}
	choosy := 0
	for _, w := range j.Work {
		if w.Stage > 0 {
			continue
		}
		t := task{near: time.Duration(nearer * float64(w.Duration)), far: w.Duration}
		for _, p := range w.Places {
			n, ok := numbers[p.Node]
			if !ok {
				n = locality.Node(len(numbers))
				numbers[p.Node] = n
			}
			if !slices.Contains(t.holders, n) {
				t.holders = append(t.holders, n)
			}
		}
		if len(t.holders) > 0 {
			choosy++
		}
		maps.tasks = append(maps.tasks, t)
		c.runs = append(c.runs, w.Duration)
	}
	if len(maps.tasks) == 0 {
		return
	}
	c.jobs = append(c.jobs, maps)
	if c.choosy += choosy; choosy > 0 {
		c.wide++
	}
}

// mean returns the mean run time of the tasks.
func (c *cluster) mean() time.Duration {
	sum := time.Duration(0)
	for _, run := range c.runs {
		sum += run
	}
	return sum / time.Duration(max(len(c.runs), 1))
}

// cell is the cell of the log with so many slots a node, which are busy otherwise.
func (c *cluster) cell(slots int, random *rand.Rand) cell {
	return cell{
		nodes: c.nodes, slots: slots, beat: heard,
		load: func() time.Duration { return c.runs[random.IntN(len(c.runs))] },
		gap:  func() time.Duration { return time.Duration(random.ExpFloat64() * idle * float64(c.mean())) },
	}
}

// hadoop replays a log with and without waiting.
func hadoop(ctx context.Context, o options) (rows []row, err error) {
	c, err := readLog(o.data)
	if err != nil {
		return nil, err
	}
	const slots = 2
	load := delay.Load{
		Tasks: c.choosy / max(c.wide, 1), Nodes: c.nodes, Replicas: replicas, Slots: slots, Task: c.mean(),
	}
	_, wait, err := load.Suggest(0.95)
	if err != nil {
		return nil, err
	}
	for _, rule := range []struct {
		name   string
		policy func() delay.Policy
	}{
		{"no wait", func() delay.Policy { return delay.Policy{} }},
		{
			fmt.Sprintf("wait of %v, as suggested", wait.Round(100*time.Millisecond)),
			func() delay.Policy { return delay.Policy{Waits: delay.Waits{wait}} },
		},
		{"learned", func() delay.Policy { return delay.Policy{Learn: new(delay.Learner), Waits: delay.Waits{wait}} }},
	} {
		r := row{Case: fmt.Sprintf("%d nodes, %d jobs", c.nodes, len(c.jobs)), Rule: rule.name}
		times := o.of(replays)
		for i := range uint64(times) {
			s, err := newFIFO(rule.policy(), nil)
			if err != nil {
				return nil, err
			}
			out, err := c.cell(slots, rand.New(rand.NewPCG(o.seed, i))).simulate(ctx, s, slices.Values(c.jobs), math.MaxInt)
			if err != nil {
				return nil, err
			}
			local, mean := out.of(anyJob, 0)
			r.Local += local / float64(times)
			r.Mean += mean / float64(times)
		}
		rows = append(rows, r)
	}
	return rows, nil
}
