package experiments

import (
	"context"
	"time"

	"github.com/cellsched/cellsched/bench/sim/simulate"
	"github.com/cellsched/cellsched/offers"
)

// large is the number of machines of [Loaded] that make one of [Offered].
const large = 16

// Offered is [Loaded] with 625 machines, each 16 times as large. An offer is of one
// machine, so that is a sixteenth of the offers. Tasks are a sixty-fourth of such
// a machine, and all alike, so that they fit as well. Schedulers conflict less, since
// two of them seldom fill a machine.
func Offered() Workload {
	w := Loaded()
	w.Name = "offered"
	w.Cell.Machines /= large
	w.Cell.Capacity = w.Cell.Capacity.Scale(large)
	return w
}

// remedy is a change against offers that are kept for as long as one likes.
type remedy struct {
	name  string
	apply func(batch, service *simulate.Scheduler, master *offers.Config)
}

// Without is the name of the row of frameworks that are offered all there is, and
// keep it.
const Without = "no timeout"

func remedies() []remedy {
	return []remedy{
		{Without, func(_, _ *simulate.Scheduler, _ *offers.Config) {}},
		{"timeout 30 s", func(_, _ *simulate.Scheduler, master *offers.Config) {
			master.Timeout = offers.For(30 * time.Second)
		}},
		{"fair share", func(batch, service *simulate.Scheduler, _ *offers.Config) {
			batch.Wants.Outstanding, service.Wants.Outstanding = 0, 0
		}},
		{"filter", func(_, service *simulate.Scheduler, _ *offers.Config) {
			service.Part = &simulate.Part{From: 1 - filtered, To: 1}
		}},
		{"gang offer", func(_, service *simulate.Scheduler, _ *offers.Config) { service.Asks = true }},
		{"optimistic", func(_, _ *simulate.Scheduler, master *offers.Config) { master.Terms.Optimistic = true }},
	}
}

// filtered is the share of the machines that services are offered at all, where
// they filter.
const filtered = 1.0 / 8

// TwoLevel is figure 7: a framework for batch jobs and one for services, as
// decisions on service jobs take longer. It shows the effect of each remedy:
//
//   - offers expire;
//   - each framework is offered its fair share at most while the other one wants any;
//   - services filter in advance;
//   - services decide first and ask for a gang offer then;
//   - offers are optimistic.
//
// The workload is [Offered]; beside it
// are a monolithic scheduler with two paths and shared state.
func TwoLevel(ctx context.Context, o Options) ([]Row, error) {
	batch := simulate.DefaultThink()
	var points []point
	add := func(mode string, t time.Duration, a simulate.Architecture) {
		points = append(points, point{
			row: Row{Architecture: a.Name, Mode: mode, Batch: 1, Rate: 1, TJob: t}, workload: Offered(),
			cfg: simulate.Config{Architecture: a},
		})
	}
	for _, r := range remedies() {
		for _, t := range decisions() {
			a := simulate.TwoLevel(batch, think(t))
			r.apply(&a.Schedulers[simulate.Batch], &a.Schedulers[simulate.Service], a.Offers)
			add(r.name, t, a)
		}
	}
	for _, t := range decisions() {
		add("", t, simulate.MultiPath(batch, think(t)))
	}
	for _, t := range decisions() {
		add("", t, simulate.SharedState(batch, think(t), 1))
	}
	return run(ctx, o, points)
}
