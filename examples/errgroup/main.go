// Errgroup moves a program from an errgroup with a limit to a pool with tenants.
//
//	go -C examples/errgroup run .
//
// A report of 6 files is asked for while an export of 60 is on its way. It prints when
// each is done, before and after.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cellsched/cellsched/examples/internal/serve"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

const (
	slots  = 4
	file   = 10 * time.Millisecond // time that a file takes
	export = 60
	report = 6
)

func main() {
	ctx := context.Background()
	page, err := serve.Start(ctx)
	if err == nil {
		err = compare(ctx, page)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "errgroup:", err)
		os.Exit(1)
	}
	page.Stay(ctx)
}

func compare(ctx context.Context, page *serve.Page) error {
	fmt.Println("          report    export")
	for _, way := range []struct {
		name string
		run  func(context.Context) (times, error)
	}{{"errgroup", before}, {"pool", func(ctx context.Context) (times, error) { return after(ctx, page) }}} {
		t, err := way.run(ctx)
		if err != nil {
			return err
		}
		fmt.Printf("%-8s  %4dms    %4dms\n", way.name, t.report.Milliseconds(), t.export.Milliseconds())
	}
	return nil
}

// times are how long it took until the report and the export were done.
type times struct{ report, export time.Duration }

// before has an errgroup for each and one limit for both, a channel. A task waits
// behind all that came before it.
func before(ctx context.Context) (t times, err error) {
	started := time.Now()
	slot := make(chan struct{}, slots) // the limit for both groups
	work := func(g *errgroup.Group, ctx context.Context) {
		g.Go(func() error {
			select {
			case slot <- struct{}{}:
				defer func() { <-slot }()
				return load(ctx)
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}
	exports, exportCtx := errgroup.WithContext(ctx)
	for range export {
		work(exports, exportCtx)
	}
	<-time.After(file) // the export is on its way
	reports, reportCtx := errgroup.WithContext(ctx)
	for range report {
		work(reports, reportCtx)
	}
	if err := reports.Wait(); err != nil {
		return t, err
	}
	t.report = time.Since(started)
	err = exports.Wait()
	t.export = time.Since(started)
	return t, err
}

// after has a tenant for each. They take turns, so the report has half of the slots
// while it has files left.
func after(ctx context.Context, page *serve.Page) (t times, err error) {
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "slots", Capacity: resources.Vector{slots}}}})
	if err != nil {
		return t, err
	}
	page.Show("/cell/", view.Config{Pools: map[string]*pool.Pool{"slots": p}})
	group := func(tenant string) (*pool.Group, error) {
		t, err := p.Tenant(tenant)
		if err != nil {
			return nil, err
		}
		g, _ := t.Group(ctx)
		return g, nil
	}
	work := func(ctx context.Context, _ pool.Lease) error { return load(ctx) }
	started := time.Now()
	exports, err := group("export")
	if err != nil {
		return t, err
	}
	for range export {
		if err := exports.Go(resources.Vector{1}, work); err != nil {
			return t, err
		}
	}
	<-time.After(file)
	reports, err := group("report")
	if err != nil {
		return t, err
	}
	for range report {
		if err := reports.Go(resources.Vector{1}, work); err != nil {
			return t, err
		}
	}
	if err := reports.Wait(); err != nil {
		return t, err
	}
	t.report = time.Since(started)
	if err := exports.Wait(); err != nil {
		return t, err
	}
	t.export = time.Since(started)
	return t, p.Close(ctx)
}

// load is the work for a file.
func load(ctx context.Context) error {
	select {
	case <-time.After(file):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
