// Etl loads files of a size that is known only once they are open. Each task asks for the
// memory of the largest file, and shrinks its lease when it knows better.
//
//	go run ./examples/etl
//
// It loads 40 files twice, with and without shrinking, and prints how long that takes,
// how many tasks ran at a time, and how much memory their files took.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"

	"github.com/cellsched/cellsched/examples/internal/serve"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

const (
	mebi    = 1 << 20
	room    = 1024 * mebi // for all tasks
	largest = 256 * mebi  // of a file
	files   = 40
)

func main() {
	ctx := context.Background()
	page, err := serve.Start(ctx)
	if err == nil {
		err = compare(ctx, page)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "etl:", err)
		os.Exit(1)
	}
	page.Stay(ctx)
}

func compare(ctx context.Context, page *serve.Page) error {
	fmt.Println("shrink   time   tasks at a time   MiB at a time")
	for _, shrink := range []bool{false, true} {
		took, tasks, memory, err := load(ctx, page, shrink)
		if err != nil {
			return err
		}
		fmt.Printf("%-6v  %4dms  %15d  %14d\n", shrink, took.Milliseconds(), tasks, memory/mebi)
	}
	return nil
}

// gauge is a number that changes, and the largest that it was.
type gauge struct{ now, most atomic.Int64 }

func (g *gauge) add(n int64) {
	n = g.now.Add(n)
	for old := g.most.Load(); n > old && !g.most.CompareAndSwap(old, n); old = g.most.Load() {
	}
}

// load loads all files, and returns how long it took, and how many files and bytes were in
// memory at a time at most.
func load(ctx context.Context, page *serve.Page, shrink bool) (took time.Duration, tasks, memory int64, err error) {
	space, err := resources.NewSpace(resources.Memory())
	if err != nil {
		return 0, 0, 0, err
	}
	p, err := pool.New(pool.Config{
		Space:    space,
		Machines: []omega.Machine{{Name: "this process", Capacity: resources.Vector{room}}},
	})
	if err != nil {
		return 0, 0, 0, err
	}
	page.Show("/cell/", view.Config{Pools: map[string]*pool.Pool{"etl": p}})
	tenant, err := p.Tenant("loader")
	if err != nil {
		return 0, 0, 0, err
	}
	var running, used gauge
	started := time.Now()
	random := rand.New(rand.NewPCG(1, 2))
	group, _ := tenant.Group(ctx)
	for range files {
		size := (4 + random.Int64N(28)) * mebi // the task learns it later
		if random.IntN(10) == 0 {
			size = largest
		}
		err := group.Go(resources.Vector{largest}, func(ctx context.Context, l pool.Lease) error {
			running.add(1)
			defer running.add(-1)
			if err := sleep(ctx, 2*time.Millisecond); err != nil { // opens the file
				return err
			}
			if shrink {
				if err := l.Resize(resources.Vector{size}); err != nil {
					return err
				}
			}
			used.add(size)
			defer used.add(-size)
			return sleep(ctx, 20*time.Millisecond) // reads and transforms it
		})
		if err != nil {
			return 0, 0, 0, err
		}
	}
	if err := group.Wait(); err != nil {
		return 0, 0, 0, err
	}
	took = time.Since(started)
	return took, running.most.Load(), used.most.Load(), p.Close(ctx)
}

// sleep is the work.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
