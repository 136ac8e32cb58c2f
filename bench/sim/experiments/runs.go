package experiments

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cellsched/cellsched/bench/sim/simulate"
)

// Options is how much of an experiment is run. The zero Options is one seed and
// one day, in one goroutine.
type Options struct {
	Seeds    int           // runs for each row, with seeds from 1; 0 is 1
	Horizon  time.Duration // of each run; 0 is a day
	Parallel int           // runs at a time; 0 is 1
	// Done, if not nil, is told how many runs have ended, of how many.
	Done func(runs, all int)
}

func (o *Options) complete() error {
	if o.Seeds < 0 || o.Horizon < 0 || o.Parallel < 0 {
		return fmt.Errorf("%w: %d seeds, horizon %v, %d in parallel: want 0 or more", simulate.ErrConfig, o.Seeds, o.Horizon, o.Parallel)
	}
	o.Seeds, o.Parallel = max(o.Seeds, 1), max(o.Parallel, 1)
	if o.Horizon == 0 {
		o.Horizon = 24 * time.Hour
	}
	return nil
}

// point is a row to be.
type point struct {
	row      Row
	workload Workload
	cfg      simulate.Config // without cell, jobs, horizon and seed
	sparrow  bool
}

func (p *point) run(ctx context.Context, seed uint64, horizon time.Duration) (*simulate.Metrics, error) {
	jobs, err := simulate.Generate(seed, horizon, p.workload.Sources[:]...)
	if err != nil {
		return nil, err
	}
	cfg := p.cfg
	cfg.Cell, cfg.Jobs, cfg.Horizon, cfg.Seed = p.workload.Cell, jobs, horizon, seed
	if p.sparrow {
		return simulate.Sparrow(ctx, cfg, simulate.SparrowConfig{})
	}
	return simulate.Run(ctx, cfg)
}

// run runs every point with every seed. Rows are in the order of the points,
// however many runs there are at a time. The first error ends all.
func run(ctx context.Context, o Options, points []point) ([]Row, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	all := len(points) * o.Seeds
	results := make([]*simulate.Metrics, all)
	var next atomic.Int64
	var told sync.Mutex
	ended := 0
	var workers sync.WaitGroup
	for range min(o.Parallel, all) {
		workers.Go(func() {
			for n := int(next.Add(1)) - 1; n < all && ctx.Err() == nil; n = int(next.Add(1)) - 1 {
				p, seed := &points[n/o.Seeds], n%o.Seeds+1
				m, err := p.run(ctx, uint64(seed), o.Horizon)
				if err != nil {
					cancel(fmt.Errorf("%s, seed %d: %w", p.row.Architecture, seed, err))
					return
				}
				results[n] = m
				told.Lock()
				if ended++; o.Done != nil {
					o.Done(ended, all)
				}
				told.Unlock()
			}
		})
	}
	workers.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	rows := make([]Row, len(points))
	for i := range points {
		rows[i] = points[i].row
		rows[i].summarise(results[i*o.Seeds : (i+1)*o.Seeds])
	}
	return rows, nil
}
