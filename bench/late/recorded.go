package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/delay/late/trial"
)

// recorded are the scenarios of a recorded workload on nodes of one speed.
func recorded(path, format string) (scenarios []scenario, err error) {
	file, err := trace.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	jobs, err := read(path, format, file)
	if err != nil {
		return nil, err
	}
	loads, err := loads(jobs)
	if err != nil {
		return nil, err
	}
	setup := trial.Setup{Slots: slots, Speeds: slices.Repeat([][]float64{{1}}, nodes), Jobs: loads}
	return []scenario{
		{"long tasks", func(uint64) trial.Setup { return setup }},
		{"long runs", func(seed uint64) trial.Setup { return redrawn(setup, seed) }},
	}, nil
}

// read returns the jobs of a trace in the order in which it has them.
func read(path, format string, r io.Reader) (iter.Seq2[trace.Job, error], error) {
	switch format {
	case "rumen":
		return trace.Rumen(path, r), nil
	case "swim":
		return trace.SWIM(path, r, trace.MapReduce{}), nil
	case "csv":
		return trace.CSV(path, r, trace.Space()), nil
	default:
		return nil, fmt.Errorf("format %q, want rumen, swim or csv", format)
	}
}

// loads are jobs by submission, the first of them at 0.
func loads(jobs iter.Seq2[trace.Job, error]) ([]trial.Load, error) {
	var all []trial.Load
	for job, err := range jobs {
		if err != nil {
			return nil, err
		}
		all = append(all, trial.Load{Submit: job.Submit, Stages: stages(job.Work)})
	}
	slices.SortStableFunc(all, func(a, b trial.Load) int { return cmp.Compare(a.Submit, b.Submit) })
	if len(all) == 0 {
		return nil, errors.New("no job in the trace, want 1 or more")
	}
	first := all[0].Submit
	for i := range all {
		all[i].Submit -= first
	}
	return all, nil
}

// stages are the lengths of a job's tasks, which are by stage.
func stages(work []trace.Tasks) []trial.Stage {
	var all []trial.Stage
	for i, tasks := range work {
		if i == 0 || tasks.Stage != work[i-1].Stage {
			all = append(all, trial.Stage{})
		}
		s := &all[len(all)-1]
		s.Work = append(s.Work, slices.Repeat([]time.Duration{tasks.Duration}, tasks.Count)...)
	}
	return all
}

// redrawn is a trial in which a copy takes as long as any task of its stage.
func redrawn(t trial.Setup, seed uint64) trial.Setup {
	random := rand.New(rand.NewPCG(seed, 2009))
	t.Jobs = slices.Clone(t.Jobs)
	for i := range t.Jobs {
		stages := slices.Clone(t.Jobs[i].Stages)
		for k := range stages {
			s := &stages[k]
			s.Again = make([]time.Duration, len(s.Work))
			for task := range s.Again {
				s.Again[task] = s.Work[random.IntN(len(s.Work))]
			}
		}
		t.Jobs[i].Stages = stages
	}
	return t
}
