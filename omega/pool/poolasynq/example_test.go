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
		Tenants:  map[string]pool.Settings{"paid": {Weight: 3}, "free": {Weight: 1}},
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
		Workers: 1000, // tasks that run, wait in the pool, or come and are put off
	})
	if err != nil {
		panic(err)
	}
	config := asynq.Config{Queues: map[string]int{"paid": 1, "free": 1}}
	m.Configure(&config)
	mux := asynq.NewServeMux()
	mux.Use(m.Handler)
	fmt.Println(config.Concurrency, "workers") // for asynq.NewServer, which runs mux
	// Output: 1000 workers
}
