package federate_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/sim/federate"
)

// cluster is that of the bars: 10 × 10 masters and 1,000 slots.
func cluster(seed uint64) federate.Cluster {
	return federate.Cluster{Globals: 10, Locals: 10, Workers: 1000, Delay: 500 * time.Microsecond, Heartbeat: 10 * time.Second, Seed: seed}
}

// One worker and no delay: waits are known by hand.
func TestRuns_OfOneWorkerAreThoseByHand(t *testing.T) {
	s := time.Second
	jobs := []federate.Job{
		{Submit: 0, Lengths: []time.Duration{2 * s, 1 * s}},
		{Submit: 1 * s, Lengths: []time.Duration{4 * s}},
		{Submit: 20 * s, Lengths: []time.Duration{1 * s}},
	}
	c := federate.Cluster{Globals: 1, Locals: 1, Workers: 1, Heartbeat: time.Hour}
	want := []time.Duration{0, 0, 2 * s, 2 * s}
	for name, run := range runs() {
		r, err := run(context.Background(), c, jobs)
		require.NoError(t, err, name)
		require.Equal(t, want, r.Waits, name)
		require.Equal(t, []time.Duration{0, 1 * s, 2 * s}, r.Delays, name)
	}
}

func runs() map[string]func(context.Context, federate.Cluster, []federate.Job) (*federate.Result, error) {
	return map[string]func(context.Context, federate.Cluster, []federate.Job) (*federate.Result, error){
		"megha": federate.Megha, "omega": federate.Omega, "sparrow": federate.Sparrow, "ideal": federate.Ideal,
	}
}

// The same seed gives the same run, and no scheduler is better than the ideal.
func TestRuns_AreDeterministicAndNotBetterThanIdeal(t *testing.T) {
	jobs := federate.Poisson(0.8, 1000, 10, time.Second, 10*time.Second, 1)
	ideal, err := federate.Ideal(context.Background(), cluster(1), jobs)
	require.NoError(t, err)
	for name, run := range runs() {
		first, err := run(context.Background(), cluster(1), jobs)
		require.NoError(t, err)
		again, err := run(context.Background(), cluster(1), jobs)
		require.NoError(t, err)
		require.Equal(t, first, again, name)
		require.GreaterOrEqual(t, mean(first.Waits), mean(ideal.Waits), name)
	}
}

func mean(d []time.Duration) (mean time.Duration) {
	for _, x := range d {
		mean += x
	}
	return mean / time.Duration(len(d))
}

// A heavily loaded federation waits less in the tail than Sparrow does.
func TestMegha_WaitsLessThanSparrowInTheTail(t *testing.T) {
	for _, load := range []float64{0.8, 0.9} {
		jobs := federate.Poisson(load, 1000, 10, time.Second, 20*time.Second, 3)
		megha, err := federate.Megha(context.Background(), cluster(3), jobs)
		require.NoError(t, err)
		sparrow, err := federate.Sparrow(context.Background(), cluster(3), jobs)
		require.NoError(t, err)
		require.Less(t, federate.Quantile(megha.Waits, 0.99), federate.Quantile(sparrow.Waits, 0.99))
		t.Logf("load %v: refused %.1f %%, p50 %v, p99 %v; sparrow %v, %v", load, 100*float64(megha.Refused)/float64(megha.Sent),
			federate.Quantile(megha.Waits, 0.5), federate.Quantile(megha.Waits, 0.99), federate.Quantile(sparrow.Waits, 0.5), federate.Quantile(sparrow.Waits, 0.99))
	}
}

// More schedulers than workers: all tasks run, and no worker idles for longer than messages take.
func TestOmega_OfManySchedulersOnFewWorkersEnds(t *testing.T) {
	for seed := range uint64(20) {
		c := federate.Cluster{Globals: 5, Locals: 1, Workers: 3, Delay: time.Millisecond, Heartbeat: time.Second, Seed: seed}
		jobs := federate.Poisson(0.9, 3, 4, 100*time.Millisecond, 20*time.Second, seed)
		ideal, err := federate.Ideal(context.Background(), c, jobs)
		require.NoError(t, err)
		r, err := federate.Omega(context.Background(), c, jobs)
		require.NoError(t, err, "seed %d", seed)
		require.Len(t, r.Waits, len(ideal.Waits), "seed %d", seed)
		require.Less(t, mean(r.Waits), 2*mean(ideal.Waits)+100*time.Millisecond, "seed %d", seed)
	}
}

func TestRuns_RejectInvalidArguments(t *testing.T) {
	job := federate.Job{Lengths: []time.Duration{1}}
	for what, c := range map[string]federate.Cluster{
		"no global master":     {Locals: 1, Workers: 1},
		"no local master":      {Globals: 1, Workers: 1},
		"no worker for a cell": {Globals: 1, Locals: 2, Workers: 1},
		"negative delay":       {Globals: 1, Locals: 1, Workers: 1, Delay: -1},
	} {
		for _, run := range runs() {
			_, err := run(context.Background(), c, []federate.Job{job})
			require.ErrorIs(t, err, federate.ErrConfig, what)
		}
	}
	for what, jobs := range map[string][]federate.Job{
		"no task":      {{}},
		"out of order": {{Submit: 2, Lengths: job.Lengths}, job},
	} {
		_, err := federate.Ideal(context.Background(), cluster(1), jobs)
		require.ErrorIs(t, err, federate.ErrConfig, what)
	}
}

func TestEven_KeepsTheLoad(t *testing.T) {
	jobs := federate.Even(0.5, 100, 11, 10, time.Second)
	require.Len(t, jobs, 11)
	require.Equal(t, 2*time.Second, jobs[10].Submit, "10 jobs of 10 s in 2 s on 100 slots")
	poisson := federate.Poisson(0.5, 100, 10, time.Second, 1000*time.Second, 1)
	work := time.Duration(0)
	for _, j := range poisson {
		for _, l := range j.Lengths {
			work += l
		}
	}
	require.InDelta(t, 0.5, work.Seconds()/(1000*100), 0.02)
	require.True(t, slices.IsSortedFunc(poisson, func(a, b federate.Job) int { return int(a.Submit - b.Submit) }))
}

// A sweep has a row for each point. At a load of a half there is a free worker for each
// task, so a wait is that of messages.
func TestSweep_HasARowForEachPoint(t *testing.T) {
	rows, err := federate.Sweep(context.Background(), federate.Options{Span: time.Second}, true)
	require.NoError(t, err)
	byName := map[string]federate.Row{}
	for _, r := range rows {
		if r.Experiment == federate.Load && r.Load == 0.5 {
			byName[r.Scheduler] = r
		}
		require.LessOrEqual(t, r.WaitP50, r.WaitP99)
		require.LessOrEqual(t, r.Refused, 1.0)
	}
	require.Len(t, rows, 16+7+4+12)
	require.Zero(t, byName["ideal"].WaitP99)
	require.Equal(t, 500*time.Microsecond, byName["megha"].WaitP50)
	require.Equal(t, 500*time.Microsecond, byName["omega"].WaitP50)
	require.Equal(t, 1500*time.Microsecond, byName["sparrow"].WaitP50)
}
