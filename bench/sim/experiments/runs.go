package experiments

import (
	"context"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/bench/internal/sweep"
	"github.com/cellsched/cellsched/bench/sim/simulate"
)

// Options is the extent of the runs of an experiment. The zero Options is one seed and
// one day, in one goroutine.
type Options struct {
	Seeds    int           // runs for each row, at most 10,000, with seeds from 1; 0 is 1
	Horizon  time.Duration // of each run; 0 is a day
	Parallel int           // runs at a time; 0 is 1
	// Done, if not nil, is told how many runs have ended, of how many.
	Done func(runs, all int)
}

// maxSeeds bounds the metrics that are kept until the last run has ended.
const maxSeeds = 10_000

func (o *Options) complete() error {
	if o.Seeds < 0 || o.Seeds > maxSeeds || o.Horizon < 0 || o.Parallel < 0 {
		return fmt.Errorf("%w: %d seeds, horizon %v, %d in parallel: want 0 or more, at most %d seeds",
			simulate.ErrConfig, o.Seeds, o.Horizon, o.Parallel, maxSeeds)
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

// run runs every point with every seed. Rows are in the order of the points.
func run(ctx context.Context, o Options, points []point) ([]Row, error) {
	results, err := each(ctx, o, points, func(ctx context.Context, p *point, seed uint64, o Options) (*simulate.Metrics, error) {
		m, err := p.run(ctx, seed, o.Horizon)
		if err != nil {
			return nil, fmt.Errorf("%s, seed %d: %w", p.row.Architecture, seed, err)
		}
		return m, nil
	})
	if err != nil {
		return nil, err
	}
	rows := make([]Row, len(points))
	for i := range points {
		rows[i] = points[i].row
		rows[i].summarise(results[i])
	}
	return rows, nil
}

// each makes a run of every point with every seed, once the options are
// complete: see [sweep.Each].
func each[P, R any](
	ctx context.Context, o Options, points []P, run func(ctx context.Context, p *P, seed uint64, o Options) (R, error),
) ([][]R, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	return sweep.Each(ctx, sweep.Options{Seeds: o.Seeds, Parallel: o.Parallel, Done: o.Done}, points,
		func(ctx context.Context, p *P, seed uint64) (R, error) { return run(ctx, p, seed, o) })
}
