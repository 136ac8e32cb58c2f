package federate

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/cellsched/cellsched/bench/internal/sweep"
	"github.com/cellsched/cellsched/bench/trace"
)

// Recorded returns the first jobs of a recorded workload, as many as have so many tasks,
// each task on one slot. Tasks of later stages are left out, since a [Job] has one stage.
//
// The jobs come in the order and at the intervals of the record, all shortened or
// stretched alike, so that slots are in use to the given load in the mean. Tasks keep
// their lengths. Errors: [ErrConfig] for a workload that ends before, or whose jobs come
// all at once or out of order, and those of the workload.
func Recorded(workload iter.Seq2[trace.Job, error], load float64, slots, tasks int) (jobs []Job, err error) {
	if load <= 0 || slots < 1 || tasks < 1 {
		return nil, fmt.Errorf("%w: load %g, %d slots, %d tasks: want all above 0", ErrConfig, load, slots, tasks)
	}
	var work time.Duration
	count := 0
	for recorded, err := range workload {
		if err != nil {
			return nil, err
		}
		j := Job{Submit: recorded.Submit}
		for _, t := range recorded.Work {
			if t.Stage > recorded.Work[0].Stage {
				continue
			}
			for range t.Count {
				j.Lengths = append(j.Lengths, t.Duration)
				work += t.Duration
			}
		}
		jobs = append(jobs, j)
		if count += len(j.Lengths); count >= tasks {
			break
		}
	}
	if count < tasks {
		return nil, fmt.Errorf("%w: the workload has %d tasks, want %d", ErrConfig, count, tasks)
	}
	first := jobs[0].Submit
	span := jobs[len(jobs)-1].Submit - first
	if span <= 0 {
		return nil, fmt.Errorf("%w: %d jobs come within %v, want a positive time", ErrConfig, len(jobs), span)
	}
	stretch := work.Seconds() / (load * float64(slots)) / span.Seconds()
	for i := range jobs {
		jobs[i].Submit = time.Duration(float64(jobs[i].Submit-first) * stretch)
	}
	return jobs, nil
}

// Record is the name of the experiment of [SweepRecorded].
const Record = "recorded"

// SweepRecorded runs a recorded workload of 20,000 tasks at several loads on the cluster of
// the experiment on load. Open returns the workload from its beginning. Quick runs 2,000
// tasks. Errors: those of [Recorded]; the context's cause.
func SweepRecorded(ctx context.Context, o Options, open func() (iter.Seq2[trace.Job, error], error), quick bool) (rows []Row, err error) {
	tasks := 20_000
	if quick {
		tasks = 2000
	}
	var all []Point
	byLoad := map[float64][]Job{}
	for _, p := range points(quick) {
		if p.Experiment != Load {
			continue
		}
		p.Experiment = Record
		all = append(all, p)
		if byLoad[p.Load] != nil {
			continue
		}
		workload, err := open()
		if err != nil {
			return nil, err
		}
		if byLoad[p.Load], err = Recorded(workload, p.Load, p.Cluster.Workers, tasks); err != nil {
			return nil, err
		}
	}
	results, err := sweep.Each(ctx, o.Options, all, func(ctx context.Context, p *Point, seed uint64) (Row, error) {
		return p.runJobs(ctx, byLoad[p.Load], seed)
	})
	if err != nil {
		return nil, err
	}
	for _, runs := range results {
		rows = append(rows, medians(runs))
	}
	return rows, nil
}
