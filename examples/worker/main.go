// Worker is a service that three tenants share: it runs their tasks by weight, in
// a pool of its own, until it is told to stop.
//
//	go run ./examples/worker                         # plays ten seconds and ends
//	go run ./examples/worker -serve localhost:8080   # stays up until SIGTERM or Ctrl-C
//
// While it stays up it shows the pool at http://localhost:8080/cell/.
//
// SIGUSR1 prints the state of the pool. All tenants send more than there is room
// for, with tasks of unlike sizes. The column "service" shows their shares of it:
// web a half, etl a third, adhoc a sixth, as their weights say.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

func main() {
	serve := flag.String("serve", "", "stay up until SIGTERM, and show the pool at this address")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *serve == "" {
		ctx, stop = context.WithTimeout(ctx, 10*time.Second)
		defer stop()
	}
	if err := work(ctx, *serve); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

func work(ctx context.Context, serve string) error {
	space, err := resources.NewSpace(resources.CPU(), resources.Dimension{Name: "conns"})
	if err != nil {
		return err
	}
	p, err := pool.New(pool.Config{
		Space:    space, // in thousandths of a CPU, and connections
		Machines: []omega.Machine{{Name: "this process", Capacity: resources.Vector{4000, 6}}},
		Tenants: map[string]pool.Settings{
			"web": {Weight: 3, Queue: 100}, "etl": {Weight: 2, Queue: 100}, "adhoc": {Weight: 1, Queue: 100},
		},
		OnError: func(t *pool.Tenant, err error) {
			if !errors.Is(err, pool.ErrClosed) { // dropped by Shutdown
				fmt.Fprintf(os.Stderr, "%s: %v\n", t, err)
			}
		},
	})
	if err != nil {
		return err
	}
	for name, need := range map[string]resources.Vector{"web": {500, 1}, "etl": {2000, 1}, "adhoc": {1000, 2}} {
		tenant, err := p.Tenant(name)
		if err != nil {
			return err
		}
		go send(ctx, tenant, need)
	}

	if serve != "" {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", serve)
		if err != nil {
			return err
		}
		mux := http.NewServeMux()
		mux.Handle("/cell/", view.Handler(view.Config{Pools: map[string]*pool.Pool{"worker": p}}))
		server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
		defer server.Close()
		go func() { _ = server.Serve(listener) }() // until Close
	}

	status := make(chan os.Signal, 1)
	onStatus(status)
	for ctx.Err() == nil {
		select {
		case <-status:
		case <-ctx.Done():
		}
		report(p)
	}
	// No more tasks are taken. Those that are queued get half a second; then the
	// contexts of those that run end, too.
	drain, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	if err := p.Shutdown(drain); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// send queues tasks, more than there is room for.
func send(ctx context.Context, t *pool.Tenant, need resources.Vector) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ; ctx.Err() == nil; <-tick.C {
		// Tasks that are queued outlive ctx: Shutdown sees to them.
		err := t.Go(context.WithoutCancel(ctx), need, func(ctx context.Context, _ pool.Lease) error {
			select {
			case <-time.After(100 * time.Millisecond): // the work
			case <-ctx.Done(): // preempted, or the end of Shutdown
			}
			return nil
		})
		if err != nil && !errors.Is(err, pool.ErrQueueFull) { // a server would answer 429: see examples/http
			return // the pool is closed
		}
	}
}

func report(p *pool.Pool) {
	fmt.Println("tenant  weight  service  tasks  waiting")
	tenants, sum := p.Stats().Tenants, time.Duration(1)
	for _, t := range tenants {
		sum += t.Received
	}
	for _, t := range tenants {
		fmt.Printf("%-6s  %6.0f  %6.1f%%  %5d  %7d\n", t.Name, t.Weight, 100*float64(t.Received)/float64(sum), t.Granted, t.Waiting)
	}
}
