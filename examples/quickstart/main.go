// Quickstart runs a data-processing job on real input: three tenants of unlike
// appetite analyse the Go source tree on twelve workers. Each has its own
// scheduler on one shared cell; order is by dominant resource fairness, place
// by delay scheduling, commit by compare-and-swap. Start at launch in tenant.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/drf"
)

func tenants() []*tenant {
	queries := &tenant{name: "queries", asks: "cpu=500m,memory=256Mi", window: 12, answer: counts{}}
	for _, symbol := range []string{"Context", "WaitGroup", "CompareAndSwap", "Unmarshal", "Deadline", "Background"} {
		queries.work = append(queries.work, uses(symbol))
	}
	return []*tenant{
		{name: "analysis", asks: "cpu=2,memory=512Mi", window: 1 << 20, work: []analysis{complexity}, answer: counts{}},
		{name: "statistics", asks: "cpu=500m,memory=3Gi", window: 1 << 20, work: []analysis{identifiers}, answer: counts{}},
		queries,
	}
}

func main() {
	dir := flag.String("dir", "", "directory of Go files (default: the source tree of the Go installation)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := quickstart(ctx, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func quickstart(ctx context.Context, dir string) error {
	shards, dir, err := listShards(dir, 32*workers)
	if err != nil {
		return err
	}
	// First without a scheduler: one shard after the other.
	fmt.Printf("%d shards of %s\n", len(shards), dir)
	read, want := make([]*parsed, len(shards)), tenants()
	var done atomic.Int64
	stop := progress("sequential run", &done, len(shards))
	for i := range read {
		read[i] = shards[i].read()
		for _, t := range want {
			for _, do := range t.work {
				do(read[i], t.answer)
			}
		}
		if done.Add(1); ctx.Err() != nil {
			break
		}
	}
	stop()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}

	table := newTable()
	wait := delay.Policy{Waits: delay.Waits{30 * time.Millisecond, 30 * time.Millisecond}}
	for _, r := range []run{{"DRF, delay", false, wait}, {"DRF, no delay", false, delay.Policy{}}, {"FIFO, delay", true, wait}} {
		got, span, err := r.do(ctx, shards, read)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		for i, t := range got {
			if !maps.Equal(t.answer, want[i].answer) {
				return fmt.Errorf("%s: %s: the answer differs from the sequential run's", r.name, t.name)
			}
		}
		table.add(r.name, got, span)
	}
	report(dir, read, want)
	return table.print()
}

// run is the whole job under one policy.
type run struct {
	name  string
	fifo  bool
	delay delay.Policy
}

func (r run) do(ctx context.Context, shards []shard, read []*parsed) (all []*tenant, span time.Duration, err error) {
	cl, err := newCluster(shards, read)
	if err != nil {
		return nil, 0, err
	}
	order := &turns{total: cl.total, order: make(chan struct{}), room: make(chan struct{}), since: time.Now()}
	if order.heap, err = drf.New[*tenant](cl.total); err != nil {
		return nil, 0, err
	}
	var done atomic.Int64
	total := 0
	for _, t := range tenants() {
		if err := t.join(cl, order, &done, r.delay); err != nil {
			return nil, 0, err
		}
		all, total = append(all, t), total+len(t.tasks)
	}
	if order.open = len(all); r.fifo {
		order.fifo = all
	}
	stop := progress(r.name, &done, total)
	var wg sync.WaitGroup
	failed := make([]error, len(all))
	for i, t := range all {
		wg.Go(func() { failed[i] = t.run(ctx) })
	}
	wg.Wait()
	stop()
	return all, order.span, errors.Join(errors.Join(failed...), cl.cell.Check())
}
