// Worker is a service that three tenants share: it runs their tasks by weight, in
// a pool of its own, until it is told to stop.
//
//	go run ./examples/worker          # plays ten seconds and ends
//	go run ./examples/worker -serve   # stays up until SIGTERM or Ctrl-C
//
// SIGUSR1 prints the state of the pool. "web" pays for half of the time, "etl" for
// a third, "adhoc" gets the rest. All of them send more than there is room for.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

func main() {
	serve := flag.Bool("serve", false, "stay up until SIGTERM")
	flag.Parse()
	if err := work(*serve); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

func work(serve bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if !serve {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
	}

	space, err := resources.NewSpace(resources.CPU(), resources.Dimension{Name: "conns"})
	if err != nil {
		return err
	}
	p, err := pool.New(pool.Config{
		Space:    space,
		Machines: []omega.Machine{{Name: "this process", Capacity: parse(space, "cpu=4,conns=6")}},
		Tenants: map[string]pool.Settings{
			"web":   {Weight: 3, Queue: 100},
			"etl":   {Weight: 2, Queue: 100},
			"adhoc": {Weight: 1, Queue: 100, MaxWait: 2 * time.Second},
		},
		OnError: func(*pool.Tenant, error) {}, // a real service logs here
	})
	if err != nil {
		return err
	}

	for name, need := range map[string]string{"web": "cpu=500m,conns=1", "etl": "cpu=2,conns=1", "adhoc": "cpu=1,conns=2"} {
		t, err := p.Tenant(name)
		if err != nil {
			return err
		}
		go send(ctx, t, parse(space, need))
	}

	status := make(chan os.Signal, 1)
	onStatus(status)
	for done := false; !done; {
		select {
		case <-status:
			report(p)
		case <-ctx.Done():
			done = true
		}
	}
	report(p)

	// Tasks that run get a moment to end; then their contexts do.
	drain, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_ = p.Shutdown(drain) // what is dropped here was queued for later
	return nil
}

// send keeps the queue of a tenant full.
func send(ctx context.Context, t *pool.Tenant, need resources.Vector) {
	for tick := time.NewTicker(10 * time.Millisecond); ctx.Err() == nil; <-tick.C {
		_ = t.Go(ctx, need, func(ctx context.Context, _ pool.Lease) error { // or ErrQueueFull
			select {
			case <-time.After(100 * time.Millisecond): // the work
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}
}

func report(p *pool.Pool) {
	fmt.Println("tenant  weight  tasks  waiting  refused  mean wait")
	for _, t := range p.Stats().Tenants {
		mean := time.Duration(0)
		if t.Granted > 0 {
			mean = t.Waited / time.Duration(t.Granted)
		}
		fmt.Printf("%-6s  %6.0f  %5d  %7d  %7d  %9v\n", t.Name, t.Weight, t.Granted, t.Waiting, t.QueueFull, mean.Round(time.Millisecond))
	}
}

func parse(space *resources.Space, text string) resources.Vector {
	v, err := space.Parse(text)
	if err != nil {
		panic(err) // a constant of this program
	}
	return v
}
