package federate_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/sim/federate"
	"github.com/cellsched/cellsched/bench/trace"
)

// workload has jobs as a record does, and ends with an error, if any.
func workload(err error, jobs ...trace.Job) iter.Seq2[trace.Job, error] {
	return func(yield func(trace.Job, error) bool) {
		for _, j := range jobs {
			if !yield(j, nil) {
				return
			}
		}
		if err != nil {
			yield(trace.Job{}, err)
		}
	}
}

func recordedJob(submit time.Duration, work ...trace.Tasks) trace.Job {
	return trace.Job{Submit: submit, Work: work}
}

// Three jobs of 6 s of work in all: at a load of a half on 4 slots they come within 3 s.
// The reduce tasks and the job after the last task wanted are left out.
func TestRecorded_KeepsLengthsAndTheLoad(t *testing.T) {
	s := time.Second
	jobs, err := federate.Recorded(workload(nil,
		recordedJob(100*s, trace.Tasks{Count: 2, Duration: s}, trace.Tasks{Count: 1, Stage: 1, Duration: 50 * s}),
		recordedJob(120*s, trace.Tasks{Count: 1, Duration: s}),
		recordedJob(160*s, trace.Tasks{Count: 1, Duration: s}, trace.Tasks{Count: 1, Duration: 2 * s}),
		recordedJob(900*s, trace.Tasks{Count: 9, Duration: s}),
	), 0.5, 4, 5)
	require.NoError(t, err)
	require.Equal(t, []federate.Job{
		{Submit: 0, Lengths: []time.Duration{s, s}},
		{Submit: s, Lengths: []time.Duration{s}},
		{Submit: 3 * s, Lengths: []time.Duration{s, 2 * s}},
	}, jobs)
}

func TestRecorded_RejectsInvalidArguments(t *testing.T) {
	bad := errors.New("bad line")
	one := recordedJob(time.Second, trace.Tasks{Count: 2, Duration: time.Second})
	for what, c := range map[string]struct {
		jobs  iter.Seq2[trace.Job, error]
		load  float64
		tasks int
		want  error
	}{
		"too few tasks":   {workload(nil, one), 0.5, 3, federate.ErrConfig},
		"all at one time": {workload(nil, one, one), 0.5, 4, federate.ErrConfig},
		"no load":         {workload(nil, one), 0, 1, federate.ErrConfig},
		"no tasks":        {workload(nil, one), 0.5, 0, federate.ErrConfig},
		"a bad line":      {workload(bad, one), 0.5, 3, bad},
	} {
		_, err := federate.Recorded(c.jobs, c.load, 4, c.tasks)
		require.ErrorIs(t, err, c.want, what)
	}
}

// Jobs of one and of 40 tasks: each scheduler runs them at each load, none better than the
// ideal. The file is read anew for each load.
func TestSweepRecorded_HasARowForEachSchedulerAndLoad(t *testing.T) {
	var jobs []trace.Job
	for i := range 100 {
		jobs = append(jobs, recordedJob(time.Duration(i)*time.Second, trace.Tasks{Count: 1 + 39*(i%2), Duration: time.Second}))
	}
	opened := 0
	rows, err := federate.SweepRecorded(context.Background(), federate.Options{}, func() (iter.Seq2[trace.Job, error], error) {
		opened++
		return workload(nil, jobs...), nil
	}, true)
	require.NoError(t, err)
	require.Equal(t, 4, opened)
	require.Len(t, rows, 16)
	ideal := map[float64]federate.Row{}
	for _, r := range rows {
		require.Equal(t, federate.Record, r.Experiment)
		if r.Scheduler == "ideal" {
			ideal[r.Load] = r
		}
		require.GreaterOrEqual(t, r.DelayP95, ideal[r.Load].DelayP95, "%s at %g", r.Scheduler, r.Load)
	}
	gone := errors.New("gone")
	_, err = federate.SweepRecorded(context.Background(), federate.Options{}, func() (iter.Seq2[trace.Job, error], error) { return nil, gone }, true)
	require.ErrorIs(t, err, gone)
}
