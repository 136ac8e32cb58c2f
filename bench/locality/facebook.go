package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
)

// The cell of Facebook's jobs: its slots are busy for 57 % of the hour if all
// tasks run where their data is.
const (
	facebookNodes = 300

	// slower is the factor by which a task takes longer that reads from afar.
	slower = 2

	// small is the most map tasks of a small job.
	small = 10
)

// readJobs reads the map tasks of the jobs up to some time, with the blocks of each
// input on nodes at random: the same for all that read it.
func readJobs(folder string, seed uint64, end time.Duration) (jobs []*job, err error) {
	path := filepath.Join(folder, "FB-2010_samples_24_times_1hr_withInputPaths_0.tsv")
	file, err := trace.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	random := rand.New(rand.NewPCG(seed, 4))
	inputs := make(map[string][][]locality.Node)
	for j, err := range before(end, trace.Sorted(path, trace.SWIM(path, file, trace.MapReduce{Startup: time.Second}), 1024)) {
		if err != nil {
			return nil, err
		}
		maps := j.Work[0]
		blocks := inputs[maps.Input]
		for len(blocks) < maps.Count {
			blocks = append(blocks, spread(random, facebookNodes, replicas))
		}
		inputs[maps.Input] = blocks
		one := &job{at: j.Submit, tasks: make([]task, maps.Count)}
		for i := range one.tasks {
			one.tasks[i] = task{holders: blocks[i], near: maps.Duration, far: slower * maps.Duration}
		}
		jobs = append(jobs, one)
	}
	return jobs, nil
}

// before passes on the jobs that come before the end.
func before(end time.Duration, jobs iter.Seq2[trace.Job, error]) iter.Seq2[trace.Job, error] {
	return func(yield func(trace.Job, error) bool) {
		for j, err := range jobs {
			if err == nil && j.Submit >= end || !yield(j, err) {
				return
			}
		}
	}
}

// facebook runs an hour of jobs with and without waiting.
func facebook(ctx context.Context, o options) (rows []row, err error) {
	jobs, err := readJobs(o.data, o.seed, time.Hour/time.Duration(max(o.part, 1)))
	if err != nil {
		return nil, err
	}
	var wait time.Duration
	for _, j := range jobs { // one wait for all is to be long enough for small ones
		if len(j.tasks) > 1 && len(j.tasks) <= small {
			load := delay.Load{Tasks: small, Nodes: facebookNodes, Replicas: replicas, Slots: slots, Task: j.tasks[0].near}
			_, w, err := load.Suggest(0.95)
			if err != nil {
				return nil, err
			}
			wait = max(wait, w)
		}
	}
	classes := []struct {
		name string
		keep func(int) bool
	}{
		{fmt.Sprintf("%d jobs", len(jobs)), anyJob},
		{fmt.Sprintf("of those, up to %d tasks", small), func(i int) bool { return len(jobs[i].tasks) <= small }},
	}
	results := make([][]row, len(classes))
	for _, rule := range []struct {
		name   string
		policy delay.Policy
	}{
		{"no wait", delay.Policy{}},
		{fmt.Sprintf("wait of %v, as suggested", wait.Round(time.Millisecond)), delay.Policy{Waits: delay.Waits{wait}}},
		{"learned", delay.Policy{Learn: new(delay.Learner), Waits: delay.Waits{wait}}},
	} {
		s, err := newFIFO(rule.policy, nil)
		if err != nil {
			return nil, err
		}
		c := cell{nodes: facebookNodes, slots: slots, beat: heard}
		out, err := c.simulate(ctx, s, slices.Values(jobs), math.MaxInt)
		if err != nil {
			return nil, err
		}
		for i, class := range classes {
			local, mean := out.of(class.keep, 0)
			results[i] = append(results[i], row{Case: class.name, Rule: rule.name, Local: local, Mean: mean})
		}
	}
	return slices.Concat(results...), nil
}
