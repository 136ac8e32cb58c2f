package experiments

import (
	"context"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/bench/internal/sweep"
)

// Options is the extent of the runs. The zero Options is one seed and twelve hours,
// in one goroutine.
type Options struct {
	Seeds    int           // workloads of each cell, with seeds from 1; 0 is 1
	Span     time.Duration // in which jobs come; 0 is 12 hours
	Parallel int           // runs at a time; 0 is 1
	// Done, if not nil, is told how many runs have ended, of how many.
	Done func(runs, all int)
}

func (o *Options) complete() error {
	if o.Seeds < 0 || o.Span < 0 || o.Parallel < 0 {
		return fmt.Errorf("%d seeds, span %v, %d in parallel: want 0 or more", o.Seeds, o.Span, o.Parallel)
	}
	o.Seeds = max(o.Seeds, 1)
	if o.Span == 0 {
		o.Span = 12 * time.Hour
	}
	return nil
}

// Sweep runs the workloads of both cells, [Busy] and [Quiet], under each of the
// policies, and returns a summary of each, by cell, then by policy. The result is
// the same however many runs there are at a time. Cost: [Run] for each cell, policy
// and seed, with its result kept until the end. Errors: options below zero, and
// the cause of the end of ctx.
func Sweep(ctx context.Context, o Options) ([]Summary, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	type point struct {
		cell   setting
		policy NamedPolicy
	}
	policies := Policies()
	var points []point
	for _, cell := range []setting{busy(), quiet()} {
		for _, p := range policies {
			points = append(points, point{cell, p})
		}
	}
	results, err := sweep.Each(ctx, sweep.Options{Seeds: o.Seeds, Parallel: o.Parallel, Done: o.Done}, points,
		func(ctx context.Context, p *point, seed uint64) (Result, error) {
			r, err := Run(ctx, p.cell.draw(seed, o.Span), p.policy.Policy)
			if err != nil {
				return Result{}, fmt.Errorf("%s, seed %d: %w", p.policy.Name, seed, err)
			}
			return r, nil
		})
	if err != nil {
		return nil, err
	}
	var summaries []Summary
	for i, p := range points {
		plain := results[i-i%len(policies)]
		rows := make([]Row, o.Seeds)
		for n, r := range results[i] {
			rows[n] = newRow(p.cell.name, p.policy.Name, r, plain[n])
		}
		summaries = append(summaries, summarise(p.cell.machines, rows))
	}
	return summaries, nil
}
