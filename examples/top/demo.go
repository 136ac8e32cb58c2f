package main

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

// demo serves the page of a pool with three tenants, on a port of this machine, until
// stop.
func demo(ctx context.Context) (url string, stop func(), err error) {
	space, err := resources.NewSpace(resources.CPU())
	if err != nil {
		return "", nil, err
	}
	p, err := pool.New(pool.Config{
		Space: space, Machines: []omega.Machine{{Name: "host", Capacity: resources.Vector{4000}}},
		Tenants: map[string]pool.Settings{"web": {Weight: 3, Queue: 20}, "etl": {Weight: 2, Queue: 20}, "adhoc": {Queue: 20}},
	})
	if err != nil {
		return "", nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "localhost:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: view.Handler(view.Config{Pools: map[string]*pool.Pool{"demo": p}}), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }() // it ends with stop
	for name, need := range map[string]resources.Vector{"web": {500}, "etl": {2000}, "adhoc": {1000}} {
		for range 10 {
			go func() {
				for {
					err := p.Do(ctx, name, pool.Request{Needs: []resources.Vector{need}, Label: "demo"}, func(ctx context.Context, _ []pool.Lease) error {
						select {
						case <-time.After(200 * time.Millisecond): // the work
						case <-ctx.Done():
						}
						return nil
					})
					if err != nil {
						return // the pool is closed
					}
				}
			}()
		}
	}
	return "http://" + listener.Addr().String() + "/", func() {
		_ = p.Close(context.Background()) // it waits for the work
		_ = server.Close()
	}, nil
}
