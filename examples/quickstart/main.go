// Quickstart runs a data-processing job on real input: three tenants of unlike
// appetite analyse the Go source tree on twelve workers. Each has a scheduler of
// its own on one shared cell: order by dominant resource fairness, place by
// delay scheduling, commit by compare-and-swap. Start reading at tenant.launch.
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
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/drf"
)

var symbols = []string{"Context", "WaitGroup", "CompareAndSwap", "Unmarshal", "Deadline", "Background"}

func tenants() []*tenant {
	const all = 1 << 20
	queries := &tenant{name: "queries", asks: "cpu=500m,memory=256Mi", window: 12, answer: counts{}}
	for _, symbol := range symbols {
		queries.work = append(queries.work, identifiers(symbol))
	}
	return []*tenant{
		{name: "analysis", asks: "cpu=2,memory=512Mi", window: all, answer: counts{}, work: []analysis{complexity}},
		{name: "statistics", asks: "cpu=500m,memory=3Gi", window: all, answer: counts{}, work: []analysis{identifiers("")}},
		queries,
	}
}

func main() {
	dir := flag.String("dir", "", "directory of Go files (default: the source tree of the Go installation)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := quickstart(ctx, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "\nquickstart:", err)
		os.Exit(1)
	}
}

func quickstart(ctx context.Context, dir string) error {
	shards, dir, err := listShards(dir, 32*workers)
	if err != nil {
		return err
	}
	// First without any scheduling, one shard after the other.
	read, want := make([]*parsed, len(shards)), tenants()
	progress := newProgress("sequential run", len(shards))
	for i := range read {
		read[i] = shards[i].read()
		for _, t := range want {
			for _, do := range t.work {
				for k, n := range read[i].count(do) {
					t.answer[k] += n
				}
			}
		}
		if progress(); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	table := newTable()
	wait := delay.Policy{Waits: delay.Waits{5 * time.Millisecond, 5 * time.Millisecond}}
	for _, r := range []run{{"DRF, delay", false, wait}, {"DRF, no delay", false, delay.Policy{}}, {"FIFO, delay", true, wait}} {
		got, span, err := r.do(ctx, shards, read)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		for i, t := range got {
			if !maps.Equal(t.answer, want[i].answer) {
				return fmt.Errorf("%s: %s: the answer is not that of the sequential run", r.name, t.name)
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
	all = tenants()
	tn := &turns{total: cl.total, open: len(all), changed: make(chan struct{}), since: time.Now()}
	if tn.heap, err = drf.New[*tenant](cl.total); err != nil {
		return nil, 0, err
	}
	total, errs := 0, make([]error, 4)
	for _, t := range all {
		t.cluster, t.turns, t.back, t.tried = cl, tn, make(chan result), -1
		t.need, errs[0] = cl.space.Parse(t.asks)
		t.sched, errs[1] = cl.cell.Register(t.name)
		t.user, errs[2] = tn.heap.Add(t, 1)
		t.job, errs[3] = delay.New(r.delay)
		if err := errors.Join(errs...); err != nil {
			return nil, 0, err
		}
		for _, do := range t.work {
			for shard := range shards {
				t.tasks = append(t.tasks, task{shard, do, time.Now()})
			}
		}
		total += len(t.tasks)
	}
	if r.fifo {
		tn.fifo = all
	}
	var wg sync.WaitGroup
	errs = make([]error, len(all))
	progress := newProgress(r.name, total)
	for i, t := range all {
		wg.Go(func() { errs[i] = t.run(ctx, progress) })
	}
	wg.Wait()
	return all, tn.span, errors.Join(errors.Join(errs...), cl.cell.Check())
}
