package poolriver_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/pool/poolriver"
	"github.com/cellsched/cellsched/resources"
)

// Four jobs run at a time, and the tenants that their metadata name take turns.
func Example() {
	p, err := pool.New(pool.Config{
		Machines: []omega.Machine{{Name: "slots", Capacity: resources.Vector{4}}},
		Tenants:  map[string]pool.Settings{"paid": {Weight: 3}, "free": {Weight: 1}},
	})
	if err != nil {
		panic(err)
	}
	m, err := poolriver.New(poolriver.Config{
		Pool: p,
		Ask: func(job *rivertype.JobRow) (string, pool.Request, error) {
			var about struct{ Plan string }
			err := json.Unmarshal(job.Metadata, &about)
			return about.Plan, pool.Request{Needs: []resources.Vector{{1}}, MaxWait: time.Second}, err
		},
		Workers: 1000, // jobs that run, wait in the pool, or come and are put off
	})
	if err != nil {
		panic(err)
	}
	config := &river.Config{Queues: map[string]river.QueueConfig{river.QueueDefault: {}}}
	m.Configure(config)
	fmt.Println(len(config.Middleware), "middleware,", config.Queues[river.QueueDefault].MaxWorkers, "workers") // for river.NewClient
	// Output: 1 middleware, 1000 workers
}
