// Flow runs the same jobs twice on a pool of workers that hold shards of data in
// their caches. First each task in turn takes the best worker that is free. Then
// all tasks are placed at once, as a min-cost flow. It prints the data that was fetched
// and how long it took.
//
// Time is virtual: a second passes when nothing is left to do in it. So the program
// ends at once, and prints the same each time.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"text/tabwriter"

	"github.com/cellsched/cellsched/examples/internal/serve"
	"github.com/cellsched/cellsched/omega/view"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	page, err := serve.Start(ctx)
	if err == nil {
		err = flows(ctx, page, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "flow:", err)
		os.Exit(1)
	}
	page.Stay(ctx)
}

func flows(ctx context.Context, page *serve.Page, out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\ttasks\tfetched\tfrom other racks\tdone after\twaited, mean\t")
	var why string
	for _, kind := range []struct {
		name string
		make func(*pool) (scheduler, error)
	}{{"one by one", newGreedy}, {"min-cost flow", newFlow}} {
		p, err := newPool()
		if err != nil {
			return err
		}
		page.Show("/cell/", view.Config{Cell: p.cell})
		s, err := kind.make(p)
		if err != nil {
			return err
		}
		r, err := p.run(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
		fmt.Fprintf(table, "%s\t%d\t%d GB\t%d GB\t%d s\t%.1f s\t\n", kind.name, r.tasks, r.near+r.far, r.far, r.took, float64(r.waited)/float64(r.tasks))
		why = r.why
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nwhy a task waited in the second run, after %d seconds:\n%s", askAt, why)
	return err
}
