// Ants limits tenants before a worker pool that knows none.
//
//	go -C examples/ants run .
//
// Eight workers of github.com/panjf2000/ants serve three tenants. One of them sends a
// hundred tasks, the others ten each. It prints when each tenant is done, with tasks
// that go to the workers at once, and with those that take their turn first.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/panjf2000/ants/v2"
	"golang.org/x/sync/errgroup"

	"github.com/cellsched/cellsched/examples/internal/serve"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

const workers = 8

var tenants = []struct {
	name  string
	tasks int
}{{"bulk", 100}, {"web", 10}, {"mail", 10}}

func main() {
	ctx := context.Background()
	page, err := serve.Start(ctx)
	if err == nil {
		err = compare(ctx, page)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ants:", err)
		os.Exit(1)
	}
	page.Stay(ctx)
}

func compare(ctx context.Context, page *serve.Page) error {
	fmt.Println("            bulk     web    mail")
	for _, way := range []struct {
		name  string
		limit int64 // workers that a tenant has at most, 0: no turns
	}{{"ants", 0}, {"turns, 6", 6}} {
		done, err := run(ctx, page, way.limit)
		if err != nil {
			return err
		}
		fmt.Printf("%-8s", way.name)
		for _, t := range tenants {
			fmt.Printf("  %4dms", done[t.name].Milliseconds())
		}
		fmt.Println()
	}
	return nil
}

// run returns when each tenant is done.
func run(ctx context.Context, page *serve.Page, limit int64) (map[string]time.Duration, error) {
	staff, err := ants.NewPool(workers)
	if err != nil {
		return nil, err
	}
	defer staff.Release()
	turns, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "workers", Capacity: resources.Vector{workers}}}})
	if err != nil {
		return nil, err
	}
	page.Show("/cell/", view.Config{Pools: map[string]*pool.Pool{"workers": turns}})
	for _, t := range tenants {
		if _, err := turns.Tenant(t.name, pool.Settings{Limit: resources.Vector{limit}, Limited: limit > 0}); err != nil {
			return nil, err
		}
	}

	// submit gives a task to a worker, in the turn of its tenant if tenants have turns.
	submit := func(tenant string, task func()) error {
		if limit == 0 {
			return staff.Submit(task)
		}
		lease, err := turns.Acquire(ctx, tenant, resources.Vector{1})
		if err != nil {
			return err
		}
		err = staff.Submit(func() {
			defer func() { _ = lease.Release() }() // fails only twice
			task()
		})
		if err != nil { // such as that the workers are released: the task never runs
			_ = lease.Release()
		}
		return err
	}

	var all errgroup.Group
	var mu sync.Mutex
	done := map[string]time.Duration{}
	started := time.Now()
	for _, t := range tenants {
		for range t.tasks {
			all.Go(func() error { // a request of the tenant
				ended := make(chan struct{})
				err := submit(t.name, func() {
					<-time.After(10 * time.Millisecond) // the work
					close(ended)
				})
				if err != nil {
					return err
				}
				<-ended
				mu.Lock()
				defer mu.Unlock()
				done[t.name] = max(done[t.name], time.Since(started))
				return nil
			})
		}
		<-time.After(time.Millisecond) // bulk comes first
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	return done, turns.Close(ctx)
}
