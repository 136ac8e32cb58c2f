package pool_test

import (
	"context"
	"fmt"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// A limit on CPU alone leaves memory without a bound.
func ExampleSettings() {
	space, err := resources.NewSpace(resources.CPU(), resources.Memory())
	if err != nil {
		panic(err)
	}
	capacity, err := space.Parse("cpu=8,memory=16Gi")
	if err != nil {
		panic(err)
	}
	p, err := pool.New(pool.Config{Space: space, Machines: []omega.Machine{{Name: "host", Capacity: capacity}}})
	if err != nil {
		panic(err)
	}
	limit := resources.Uniform(resources.MaxQuantity)
	limit[0] = 4000 // the space's first kind, in millicores
	batch, err := p.Tenant("batch", pool.Settings{Limit: limit, Limited: true})
	if err != nil {
		panic(err)
	}
	for _, text := range []string{"cpu=4,memory=15Gi", "cpu=5"} {
		need, err := space.Parse(text)
		if err != nil {
			panic(err)
		}
		lease, err := batch.Acquire(context.Background(), need)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(lease)
		if err := lease.Release(); err != nil {
			panic(err)
		}
	}
	// Output:
	// batch: cpu=4,memory=15Gi on host
	// pool: need of "batch": cpu=5, more than the limit cpu=4 of "batch": need can never be met
}
