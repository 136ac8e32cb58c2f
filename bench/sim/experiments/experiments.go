package experiments

import (
	"context"
	"time"

	"github.com/cellsched/cellsched/bench/sim/simulate"
	"github.com/cellsched/cellsched/omega"
)

// Experiment is one that a figure of the Omega paper shows.
type Experiment struct {
	Name  string
	Shows string
	Run   func(context.Context, Options) ([]Row, error)
}

// All returns the experiments by figure.
func All() []Experiment {
	return []Experiment{
		{"fig5", "wait until the first attempt, by t_job of services", Architectures},
		{"fig6", "busyness, by t_job of services", Architectures},
		{"fig7", "two-level scheduling, by t_job of services", TwoLevel},
		{"fig8", "one batch scheduler, by the rate of batch jobs", Load},
		{"fig9", "1 to 32 batch schedulers, by the rate of batch jobs", Schedulers},
		{"fig14", "conflict detection and gangs", Modes},
	}
}

// decisions are the t_job of services in the sweeps.
func decisions() []time.Duration {
	return []time.Duration{100 * time.Millisecond, time.Second, 10 * time.Second, 30 * time.Second, 100 * time.Second}
}

// Architectures is figures 5 and 6: the waits of jobs, and how busy schedulers are, as
// the decisions on service jobs take longer. The partitioned cell gives a third to
// batch jobs. The two-level one has fewer and larger machines, see [Offered], and
// offers that do not expire. Sparrow decides nothing and so does not change: it is
// run once for all t_job.
func Architectures(ctx context.Context, o Options) ([]Row, error) {
	batch := simulate.DefaultThink()
	var points []point
	for _, of := range []func(service simulate.Think) simulate.Architecture{
		simulate.SinglePath,
		func(service simulate.Think) simulate.Architecture { return simulate.MultiPath(batch, service) },
		func(service simulate.Think) simulate.Architecture { return simulate.Partitioned(batch, service, 1.0/3) },
		func(service simulate.Think) simulate.Architecture { return simulate.TwoLevel(batch, service) },
		func(service simulate.Think) simulate.Architecture { return simulate.SharedState(batch, service, 1) },
	} {
		for _, t := range decisions() {
			a, w := of(think(t)), Loaded()
			if a.Offers != nil {
				w = Offered()
			}
			points = append(points, point{
				row: Row{Architecture: a.Name, Batch: 1, Rate: 1, TJob: t}, workload: w,
				cfg: simulate.Config{Architecture: a},
			})
		}
	}
	points = append(points, point{row: Row{Architecture: "sparrow", Rate: 1}, workload: Loaded(), sparrow: true})
	rows, err := run(ctx, o, points)
	if err != nil {
		return nil, err
	}
	rows, sparrow := rows[:len(rows)-1], rows[len(rows)-1]
	for _, t := range decisions() {
		sparrow.TJob = t
		rows = append(rows, sparrow)
	}
	return rows, nil
}

// Load is figure 8: one batch scheduler, and more and more batch jobs.
func Load(ctx context.Context, o Options) ([]Row, error) {
	return run(ctx, o, scaled([]float64{1, 2, 4, 6, 8, 10, 12, 16}, []int{1}))
}

// Schedulers is figure 9: the same jobs, spread over more batch schedulers.
func Schedulers(ctx context.Context, o Options) ([]Row, error) {
	return run(ctx, o, scaled([]float64{4, 8, 16}, []int{1, 2, 4, 8, 16, 32}))
}

func scaled(rates []float64, schedulers []int) (points []point) {
	for _, rate := range rates {
		for _, n := range schedulers {
			points = append(points, point{
				row:      Row{Architecture: "omega", Batch: n, Rate: rate, TJob: simulate.DefaultThink().Job},
				workload: Scalable(rate),
				cfg:      simulate.Config{Architecture: simulate.SharedState(simulate.DefaultThink(), simulate.DefaultThink(), n)},
			})
		}
	}
	return points
}

// Modes is figure 14 on a synthetic workload. It shows how much more schedulers conflict
// if a change of a machine is a conflict, and if a transaction is granted whole
// or not at all. Claims are the changes that Google's simulator counts.
func Modes(ctx context.Context, o Options) ([]Row, error) {
	var points []point
	for _, detect := range []struct {
		name string
		is   omega.Detection
	}{{"fit", omega.Fine}, {"claims", omega.CoarseClaims}, {"changes", omega.Coarse}} {
		for _, txn := range []struct {
			name string
			gang bool
		}{{"incremental", false}, {"gang", true}} {
			for _, t := range []time.Duration{5 * time.Second, 10 * time.Second} {
				a := simulate.SharedState(simulate.DefaultThink(), think(t), 1)
				a.Detect, a.Gang = detect.is, txn.gang
				points = append(points, point{
					row:      Row{Architecture: "omega", Mode: detect.name + " + " + txn.name, Batch: 1, Rate: 1, TJob: t},
					workload: Tight(),
					cfg:      simulate.Config{Architecture: a},
				})
			}
		}
	}
	return run(ctx, o, points)
}
