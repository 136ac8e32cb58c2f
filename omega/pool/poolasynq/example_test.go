package poolasynq_test

import (
	"context"
	"fmt"
	"time"

	"github.com/hibiken/asynq"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/pool/poolasynq"
	"github.com/cellsched/cellsched/resources"
)

// Four tasks run at a time, and the tenants that their queues name take turns.
func Example() {
	p, err := pool.New(pool.Config{
		Machines: []omega.Machine{{Name: "slots", Capacity: resources.Vector{4}}},
		Tenants:  map[string]pool.Settings{"paid": {Weight: 3, Queue: 8}, "free": {Weight: 1, Queue: 8}},
	})
	if err != nil {
		panic(err)
	}
	m, err := poolasynq.New(poolasynq.Config{
		Pool: p,
		Ask: func(ctx context.Context, _ *asynq.Task) (string, pool.Request, error) {
			tenant, _ := asynq.GetQueueName(ctx)
			return tenant, pool.Request{Needs: []resources.Vector{{1}}, MaxWait: time.Second}, nil
		},
	})
	if err != nil {
		panic(err)
	}
	// Concurrency counts the tasks that run, those that wait in the pool, and those
	// that come and are put off.
	config := asynq.Config{
		Concurrency: 100, Queues: map[string]int{"paid": 1, "free": 1},
		IsFailure: m.IsFailure, RetryDelayFunc: m.RetryDelay,
	}
	mux := asynq.NewServeMux()
	mux.Use(m.Handler)
	fmt.Println(config.Concurrency, "workers") // for asynq.NewServer, which runs mux
	// Output: 100 workers
}
