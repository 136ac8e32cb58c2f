package experiments

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/elastic"
	"github.com/cellsched/cellsched/resources"
)

// Precedences: requests of jobs and batches are equal, and extra workers give way
// to both.
const (
	extra    omega.Precedence = 0
	ordinary omega.Precedence = 1
)

// tick is the interval at which running jobs are planned anew and utilisation is
// noted.
const tick = time.Minute

// Result is the outcome of a workload under one policy.
type Result struct {
	Took []time.Duration // by job: from when it came until it was done
	Used []float64       // fraction of the cell's CPUs, minute by minute of the span
	// Preempted is the number of extra workers that batch tasks took the place of.
	// Waited is the number of batch tasks that had to wait for room all the same.
	Preempted, Waited int
}

// Run runs a workload under a policy until all its jobs are done. It is
// deterministic: all that is random is in the workload, which it only reads. Cost:
// O(machines + workers that come and go) for each minute and each job or batch.
//
// Errors: those of elastic for a policy or a job; the cause of the end of ctx; and
// one that names the expected values, for a workload
//
//   - that makes no sense,
//   - that has more services than room, or
//   - with jobs that can never be done, since there is no room for a single worker.
func Run(ctx context.Context, w Workload, p elastic.Policy) (Result, error) {
	r, err := start(w, p)
	if err != nil {
		return Result{}, err
	}
	return r.finish(ctx, func() error { return nil })
}

// run is a run in progress.
type run struct {
	events
	cell      *omega.Cell
	machines  []omega.MachineID // by node number: none is ever removed
	mapreduce *omega.Scheduler
	batch     *omega.Scheduler
	policy    elastic.Policy
	workload  Workload
	running   []*job // in the order in which they came
	waiting   []*Batch
	tasks     int // that run
	done      int
	result    Result
}

// job is a job that runs.
type job struct {
	*Job
	number int
	team   *elastic.Team
	left   elastic.MapReduce
	since  time.Duration // when left was true
	ends   time.Duration // when its phase does, unless its team changes
}

func start(w Workload, p elastic.Policy) (*run, error) {
	if err := w.check(); err != nil {
		return nil, fmt.Errorf("workload %q: %w", w.Name, err)
	}
	var cfg omega.Config
	for i := range w.Machines {
		cfg.Machines = append(cfg.Machines, omega.Machine{Name: fmt.Sprint("node-", i), Capacity: w.Machine})
	}
	cell, err := omega.NewCell(cfg)
	if err != nil {
		return nil, err
	}
	r := &run{cell: cell, policy: p, workload: w, result: Result{Took: make([]time.Duration, len(w.Jobs))}}
	for m := range cell.Machines() {
		r.machines = append(r.machines, m.ID)
	}
	limits := omega.Limits{Lowest: extra, Highest: ordinary}
	if r.mapreduce, err = cell.Register("mapreduce", limits); err != nil {
		return nil, err
	}
	if r.batch, err = cell.Register("batch", limits); err != nil {
		return nil, err
	}
	services, err := cell.Register("services", limits)
	if err != nil {
		return nil, err
	}
	if placed, err := place(services, w.Services); err != nil {
		return nil, err
	} else if len(placed) < w.Services {
		return nil, fmt.Errorf("workload %q: room for %d of %d services", w.Name, len(placed), w.Services)
	}
	for i := range w.Jobs {
		r.at(w.Jobs[i].At, func() error { return r.submit(i) })
	}
	for i := range w.Batches {
		b := w.Batches[i]
		r.at(b.At, func() error { return r.arrive(b) })
	}
	r.at(0, r.tick)
	return r, nil
}

func (r *run) finish(ctx context.Context, after func() error) (Result, error) {
	if err := r.run(ctx, after); err != nil {
		return Result{}, fmt.Errorf("workload %q, %v: %w", r.workload.Name, r.now, err)
	}
	return r.result, nil
}

// tick plans everything anew as long as there is something to plan.
func (r *run) tick() error {
	if r.now < r.workload.Span {
		r.result.Used = append(r.result.Used, r.used())
	}
	if err := r.replan(); err != nil {
		return err
	}
	if r.now < r.workload.Span || r.done < len(r.workload.Jobs) {
		r.at(r.now+tick, r.tick)
	}
	if r.now >= r.workload.Span && len(r.running) > 0 && r.tasks == 0 && r.mapreduce.Usage() == (resources.Vector{}) {
		return fmt.Errorf("%d jobs have no room for a single worker", len(r.running))
	}
	return nil
}

// used returns the fraction of the cell's CPUs that is taken.
func (r *run) used() float64 {
	taken := int64(r.workload.Services)*need()[0] + r.mapreduce.Usage()[0] + r.batch.Usage()[0]
	return float64(taken) / float64(int64(r.workload.Machines)*r.workload.Machine[0])
}

// submit is a job that comes.
func (r *run) submit(i int) error {
	j := &job{Job: &r.workload.Jobs[i], number: i, since: r.now, ends: -1}
	j.left = j.Work
	var err error
	j.team, err = elastic.NewTeam(j.Asked, elastic.Worker{
		Query: omega.Query{Need: need()}, Precedence: ordinary, Extra: extra,
	})
	if err != nil {
		return err
	}
	r.running = append(r.running, j)
	return r.replan()
}

// advance brings a job up to now, and ends it if it is done.
func (r *run) advance(j *job) error {
	j.left = j.left.After(j.team.Len(), r.now-j.since)
	j.since = r.now
	if j.left.Parallelism() > 0 {
		return nil
	}
	r.result.Took[j.number] = r.now - j.At
	r.done++
	r.running = slices.DeleteFunc(r.running, func(other *job) bool { return other == j })
	return r.resize(j, 0)
}

// resize brings the team of j to n workers.
func (r *run) resize(j *job, n int) error {
	return j.team.Resize(context.Background(), omega.Local{Scheduler: r.mapreduce}, time.Time{}, n)
}

// wake has the job looked at when its phase ends.
func (r *run) wake(j *job) {
	phase := j.left
	if phase.MapWork > 0 {
		phase.ReduceWork = 0
	}
	t := phase.Time(j.team.Len())
	if t > math.MaxInt64-r.now || r.now+t == j.ends {
		return // no worker is there, or the job will be woken then
	}
	ends := r.now + t
	j.ends = ends
	r.at(ends, func() error {
		if j.ends != ends {
			return nil
		}
		return r.replan()
	})
}
