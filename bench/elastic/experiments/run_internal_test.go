package experiments

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/elastic"
	"github.com/cellsched/cellsched/resources"
)

// After each event the cell holds exactly the teams' workers, the tasks that run
// and the services, with extra workers at their precedence. No job is done sooner
// than its activities allow. The workers that a job had were enough to do its work.
func TestRun_ConservesWorkersAndWork(t *testing.T) {
	w := setting{name: "tiny", machines: 8, services: 0.3, batch: 0.25, jobs: 0.3}.draw(7, 2*time.Hour)
	for _, p := range Policies() {
		t.Run(p.Name, func(t *testing.T) {
			r, err := start(w, p.Policy)
			require.NoError(t, err)
			worked := make([]time.Duration, len(w.Jobs))
			had := map[int]int{}
			last := time.Duration(0)
			result, err := r.finish(t.Context(), func() error {
				for number, workers := range had {
					worked[number] += time.Duration(workers) * (r.now - last)
				}
				last = r.now
				clear(had)
				workers := map[omega.Precedence]int{}
				for _, j := range r.running {
					had[j.number] = j.team.Len()
					workers[extra] += j.team.Extra()
					workers[ordinary] += j.team.Len() - j.team.Extra()
				}
				allocated := map[string]map[omega.Precedence]int{"mapreduce": {}, "batch": {}, "services": {}}
				for a := range r.cell.Allocations() {
					allocated[a.Scheduler][a.Precedence]++
				}
				require.Equal(t, workers[extra], allocated["mapreduce"][extra])
				require.Equal(t, workers[ordinary], allocated["mapreduce"][ordinary])
				require.Equal(t, r.tasks, allocated["batch"][ordinary])
				require.Equal(t, w.Services, allocated["services"][ordinary])
				return r.cell.Check()
			})
			require.NoError(t, err)
			require.Empty(t, r.running)
			require.Empty(t, r.waiting)
			require.Zero(t, r.tasks)
			require.Len(t, result.Used, int(w.Span/tick))
			if p.Policy.Times != 1 {
				require.Positive(t, result.Preempted, "or the test shows nothing")
			}
			for i, j := range w.Jobs {
				require.GreaterOrEqual(t, result.Took[i], j.Work.Time(j.Work.Parallelism()))
				require.GreaterOrEqual(t, worked[i], j.Work.MapWork+j.Work.ReduceWork)
			}
		})
	}
}

// A job alone in a cell takes the time that its model predicts.
func TestRun_TakesTheModelsTime(t *testing.T) {
	work := elastic.MapReduce{Maps: 40, MapWork: 40 * time.Minute, Reduces: 10, ReduceWork: 20 * time.Minute}
	w := Workload{
		Machines: 4, Machine: setMachine(10), Span: time.Minute, // 40 workers
		Jobs: []Job{{Asked: 5, Work: work}},
	}
	tests := map[string]struct {
		policy elastic.Policy
		took   time.Duration
	}{
		"as asked for":                        {elastic.Policy{Times: 1}, 12 * time.Minute},
		"twice that":                          {elastic.Policy{Times: 2}, 6 * time.Minute},
		"half the cell":                       {elastic.Policy{Cap: 50}, 2*time.Minute + 2*time.Minute},
		"all of it, and back for the reduces": {elastic.Policy{}, time.Minute + 2*time.Minute},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			result, err := Run(t.Context(), w, test.policy)
			require.NoError(t, err)
			require.Equal(t, []time.Duration{test.took}, result.Took)
		})
	}
}

// A batch takes the room of extra workers at once, and the job goes on with the
// rest.
func TestRun_BatchesComeFirst(t *testing.T) {
	w := Workload{
		Machines: 1, Machine: setMachine(10), Span: time.Minute,
		Jobs:    []Job{{Asked: 2, Work: elastic.MapReduce{Maps: 10, MapWork: 60 * time.Minute}}},
		Batches: []Batch{{At: 90 * time.Second, Tasks: 6, Runs: time.Hour}},
	}
	result, err := Run(t.Context(), w, elastic.Policy{})
	require.NoError(t, err)
	require.Equal(t, 6, result.Preempted)
	require.Zero(t, result.Waited)
	// 15 of 60 minutes were done by 10, the other 45 by 4.
	require.Equal(t, []time.Duration{90*time.Second + 675*time.Second}, result.Took)

	w.Batches[0].Tasks = 9
	result, err = Run(t.Context(), w, elastic.Policy{})
	require.NoError(t, err)
	require.Equal(t, 8, result.Preempted, "not those that were asked for")
	require.Equal(t, 1, result.Waited)
}

// It is the youngest job with an extra worker that loses one.
func TestRun_BatchesTakeFromTheYoungestJob(t *testing.T) {
	w := Workload{
		Machines: 1, Machine: setMachine(10), Span: time.Minute,
		Jobs: []Job{
			{Asked: 1, Work: elastic.MapReduce{Maps: 3, MapWork: 300 * time.Second}},
			// 5 workers for 30 s, then 4.
			{At: 10 * time.Second, Asked: 1, Work: elastic.MapReduce{Maps: 5, MapWork: 310 * time.Second}},
			// No job to take from.
			{At: 20 * time.Second, Asked: 2, Work: elastic.MapReduce{Maps: 2, MapWork: 200 * time.Second}},
		},
		Batches: []Batch{{At: 40 * time.Second, Tasks: 1, Runs: time.Hour}},
	}
	result, err := Run(t.Context(), w, elastic.Policy{})
	require.NoError(t, err)
	require.Equal(t, 1, result.Preempted)
	require.Equal(t, []time.Duration{100 * time.Second, 70 * time.Second, 100 * time.Second}, result.Took)
}

// A task that waits for room runs as long as it may, and not shorter.
func TestRun_EndlessTasksStay(t *testing.T) {
	w := Workload{
		Machines: 1, Machine: setMachine(2), Span: 3 * time.Minute,
		Batches: []Batch{{Tasks: 2, Runs: time.Minute}, {Tasks: 2, Runs: math.MaxInt64}},
	}
	result, err := Run(t.Context(), w, elastic.Policy{})
	require.NoError(t, err)
	require.Equal(t, []float64{1, 1, 1}, result.Used)
}

// A job that comes later gets the workers it asks for at once, out of an older
// one's extra workers. It gets more when the other's maps are done, in the middle of
// a minute.
func TestRun_SharesBetweenJobs(t *testing.T) {
	w := Workload{
		Machines: 4, Machine: setMachine(10), Span: time.Minute,
		Jobs: []Job{
			// 40 workers for 10 s, 35 for another 20: then 5 for the reduces.
			{Asked: 5, Work: elastic.MapReduce{Maps: 100, MapWork: 1100 * time.Second, Reduces: 5, ReduceWork: 500 * time.Second}},
			// 5 workers for 20 s, then 35.
			{At: 10 * time.Second, Asked: 5, Work: elastic.MapReduce{Maps: 100, MapWork: 450 * time.Second}},
		},
	}
	result, err := Run(t.Context(), w, elastic.Policy{})
	require.NoError(t, err)
	require.Equal(t, []time.Duration{130 * time.Second, 30 * time.Second}, result.Took)
}

func TestRun_IsDeterministic(t *testing.T) {
	w := Quiet(5, time.Hour)
	require.Equal(t, w, Quiet(5, time.Hour))
	require.NotEqual(t, w, Quiet(6, time.Hour))
	a, err := Run(t.Context(), w, elastic.Policy{})
	require.NoError(t, err)
	b, err := Run(t.Context(), w, elastic.Policy{})
	require.NoError(t, err)
	require.Equal(t, a, b)
	require.Equal(t, w, Quiet(5, time.Hour), "only read")
}

func TestRun_RejectsInvalidArguments(t *testing.T) {
	work := elastic.MapReduce{Maps: 1, MapWork: time.Minute}
	good := Workload{Name: "w", Machines: 2, Machine: setMachine(2), Span: time.Minute, Jobs: []Job{{Asked: 1, Work: work}}}
	_, err := Run(t.Context(), good, elastic.Policy{})
	require.NoError(t, err)
	tests := map[string]struct {
		change func(*Workload)
		says   string
	}{
		"no machine": {func(w *Workload) { w.Machines = 0 }, `workload "w": 0 machines, want 1 or more`},
		"machines without CPUs": {
			func(w *Workload) { w.Machine, w.Jobs = resources.Vector{}, nil },
			`workload "w": machines of [0 0 0 0 0 0 0 0], want room for a worker, [1 2 0 0 0 0 0 0]`,
		},
		"negative services":  {func(w *Workload) { w.Services = -1 }, `workload "w": -1 services, want 0 or more`},
		"more than the cell": {func(w *Workload) { w.Services = 5 }, `workload "w": room for 4 of 5 services`},
		"no time":            {func(w *Workload) { w.Span = 0 }, `workload "w": span of 0s, want more than 0`},
		"before the start": {
			func(w *Workload) { w.Jobs = []Job{{At: -1, Asked: 1, Work: work}} },
			`workload "w": job 0 comes at -1ns with 1m0s of map and 0s of reduce work, want some, at 0 or later`,
		},
		"nothing to do": {
			func(w *Workload) { w.Jobs = []Job{{Asked: 1}} },
			`workload "w": job 0 comes at 0s with 0s of map and 0s of reduce work, want some, at 0 or later`,
		},
		"nobody to do it": {
			func(w *Workload) { w.Jobs = []Job{{Asked: 1, Work: elastic.MapReduce{MapWork: 1}}} },
			`workload "w": job 0: elastic: 1ns of map work, want an activity to do it: invalid model`,
		},
		"no worker asked for": {
			func(w *Workload) { w.Jobs = []Job{{Work: work}} },
			`workload "w": job 0 asks for 0 workers, want 1 to 2147483647`,
		},
		"an empty batch": {
			func(w *Workload) { w.Batches = []Batch{{Runs: 1}} },
			`workload "w": batch 0 comes at 0s with 0 tasks of 1ns, want some, at 0 or later`,
		},
		"no room, ever": {
			func(w *Workload) { w.Services = 4 },
			`workload "w", 1m0s: 1 jobs have no room for a single worker`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := good
			test.change(&w)
			_, err := Run(t.Context(), w, elastic.Policy{})
			require.EqualError(t, err, test.says)
		})
	}
	_, err = Run(t.Context(), good, elastic.Policy{Cap: 101})
	require.ErrorIs(t, err, elastic.ErrPolicy)
}
