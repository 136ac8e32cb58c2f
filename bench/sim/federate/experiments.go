package federate

import (
	"context"
	"slices"
	"time"

	"github.com/cellsched/cellsched/bench/internal/sweep"
)

// Options is how much an experiment runs.
type Options struct {
	sweep.Options
	// Span is the virtual time in which jobs are submitted; 0 is 20 s.
	Span time.Duration
}

// Point is one setting of an experiment.
type Point struct {
	Experiment string // Load, Masters, Beat, Synthetic or Record
	Scheduler  string // megha, omega, sparrow or ideal
	Load       float64
	Cluster    Cluster
	Jobs       int // of 1,000 tasks, of the synthetic workload; 0 for that of the bars
}

// Row is the outcome of a point: medians over the seeds.
type Row struct {
	Point
	WaitP50, WaitP95, WaitP99 time.Duration // of tasks
	DelayP50, DelayP95        time.Duration // of jobs
	Refused, Borrowed         float64       // parts of the launches
}

// The experiments.
const (
	Load      = "load"
	Masters   = "masters"
	Beat      = "heartbeat"
	Synthetic = "synthetic"
)

// loads are those of the experiment on load.
func loads() []float64 { return []float64{0.5, 0.8, 0.9, 0.95} }

// schedulers run the jobs of the experiments on load and on the synthetic workload.
func schedulers() []string { return []string{"ideal", "sparrow", "omega", "megha"} }

// points returns all settings: the bars' cluster has 10 global and 10 local masters, 1,000
// workers, a delay of 0.5 ms and a heartbeat of 10 s.
func points(quick bool) (all []Point) {
	base := Cluster{Globals: 10, Locals: 10, Workers: 1000, Delay: 500 * time.Microsecond, Heartbeat: 10 * time.Second}
	for _, load := range loads() {
		for _, s := range schedulers() {
			all = append(all, Point{Experiment: Load, Scheduler: s, Load: load, Cluster: base})
		}
	}
	for _, n := range [][2]int{{1, 1}, {10, 1}, {1, 10}, {5, 10}, {10, 5}, {20, 10}, {10, 20}} {
		c := base
		c.Globals, c.Locals = n[0], n[1]
		all = append(all, Point{Experiment: Masters, Scheduler: "megha", Load: 0.9, Cluster: c})
	}
	for _, beat := range []time.Duration{100 * time.Millisecond, time.Second, 10 * time.Second, time.Minute} {
		c := base
		c.Heartbeat = beat
		all = append(all, Point{Experiment: Beat, Scheduler: "megha", Load: 0.9, Cluster: c})
	}
	for _, workers := range []int{1000, 10_000, 50_000} {
		c := base
		c.Workers = workers
		for _, s := range schedulers() {
			jobs := 100
			if quick {
				jobs = 4
			}
			all = append(all, Point{Experiment: Synthetic, Scheduler: s, Load: 0.8, Cluster: c, Jobs: jobs})
		}
	}
	return all
}

// Sweep runs all experiments. Schedulers run the same jobs, seed by seed. The experiments
// other than that on load have 5 seeds at most. The synthetic workload has no randomness
// but Sparrow's, and is run once. Quick makes it short. Errors: [ErrConfig]; the context's
// cause.
func Sweep(ctx context.Context, o Options, quick bool) (rows []Row, err error) {
	if o.Span == 0 {
		o.Span = 20 * time.Second
	}
	seeds := map[string]int{Load: o.Seeds, Masters: min(o.Seeds, 5), Beat: min(o.Seeds, 5), Synthetic: 1}
	all := points(quick)
	for _, name := range []string{Load, Masters, Beat, Synthetic} {
		some := slices.DeleteFunc(slices.Clone(all), func(p Point) bool { return p.Experiment != name })
		once := o.Options
		once.Seeds = seeds[name]
		results, err := sweep.Each(ctx, once, some, func(ctx context.Context, p *Point, seed uint64) (Row, error) {
			return p.run(ctx, o.Span, seed)
		})
		if err != nil {
			return nil, err
		}
		for _, runs := range results {
			rows = append(rows, medians(runs))
		}
	}
	return rows, nil
}

func (p *Point) run(ctx context.Context, span time.Duration, seed uint64) (Row, error) {
	if p.Jobs > 0 {
		return p.runJobs(ctx, Even(p.Load, p.Cluster.Workers, p.Jobs, 1000, time.Second), seed)
	}
	return p.runJobs(ctx, Poisson(p.Load, p.Cluster.Workers, 10, time.Second, span, seed), seed)
}

func (p *Point) runJobs(ctx context.Context, jobs []Job, seed uint64) (Row, error) {
	c := p.Cluster
	c.Seed = seed
	how := map[string]func(context.Context, Cluster, []Job) (*Result, error){"megha": Megha, "omega": Omega, "sparrow": Sparrow, "ideal": Ideal}
	r, err := how[p.Scheduler](ctx, c, jobs)
	if err != nil {
		return Row{}, err
	}
	launches := float64(max(r.Sent, 1))
	return Row{
		Point:   *p,
		WaitP50: Quantile(r.Waits, 0.5), WaitP95: Quantile(r.Waits, 0.95), WaitP99: Quantile(r.Waits, 0.99),
		DelayP50: Quantile(r.Delays, 0.5), DelayP95: Quantile(r.Delays, 0.95),
		Refused: float64(r.Refused) / launches, Borrowed: float64(r.Borrowed) / launches,
	}, nil
}

// medians returns the median of each figure over the runs of a point.
func medians(runs []Row) Row {
	row := Row{Point: runs[0].Point}
	for _, of := range []func(*Row) *time.Duration{
		func(r *Row) *time.Duration { return &r.WaitP50 }, func(r *Row) *time.Duration { return &r.WaitP95 },
		func(r *Row) *time.Duration { return &r.WaitP99 }, func(r *Row) *time.Duration { return &r.DelayP50 },
		func(r *Row) *time.Duration { return &r.DelayP95 },
	} {
		*of(&row) = median(runs, of)
	}
	row.Refused = median(runs, func(r *Row) *float64 { return &r.Refused })
	row.Borrowed = median(runs, func(r *Row) *float64 { return &r.Borrowed })
	return row
}

// median returns the lower of the two values in the middle.
func median[T float64 | time.Duration](runs []Row, of func(*Row) *T) T {
	values := make([]T, len(runs))
	for i := range runs {
		values[i] = *of(&runs[i])
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}
