// Package sweep makes the runs of an experiment, some of them at a time.
package sweep

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Options is how many runs there are, and how many at a time. The zero Options
// is one for each point, one after the other.
type Options struct {
	Seeds    int // of each point, from 1 on; 0 is 1
	Parallel int // runs at a time; 0 is 1
	// Done, if not nil, is told how many runs have ended, of how many. It is
	// called by one goroutine at a time.
	Done func(runs, all int)
}

// Each makes a run of every point with every seed. The results are in the order
// of the points, then of the seeds, however many runs there are at a time. The
// first error, or the end of ctx, ends all: then there are no results, and the
// error is that, or the cause of the end. It returns when no run is left.
func Each[P, R any](
	ctx context.Context, o Options, points []P, run func(ctx context.Context, p *P, seed uint64) (R, error),
) ([][]R, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	seeds := max(o.Seeds, 1)
	all := len(points) * seeds
	results := make([]R, all)
	var next atomic.Int64
	var told sync.Mutex
	ended := 0
	var workers sync.WaitGroup
	for range min(max(o.Parallel, 1), all) {
		workers.Go(func() {
			for n := int(next.Add(1)) - 1; n < all && ctx.Err() == nil; n = int(next.Add(1)) - 1 {
				r, err := run(ctx, &points[n/seeds], uint64(n%seeds)+1)
				if err != nil {
					cancel(err)
					return
				}
				results[n] = r
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
	return slices.Collect(slices.Chunk(results, seeds)), nil
}
