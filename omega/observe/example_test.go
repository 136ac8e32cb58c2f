package observe_test

import (
	"context"
	"fmt"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// Two pools tell their decisions to one stream.
func Example() {
	var stream observe.Stream
	events := stream.Subscribe(100)
	for _, name := range []string{"fast", "slow"} {
		p, err := pool.New(pool.Config{
			Machines: []omega.Machine{{Name: name, Capacity: resources.Vector{2}}},
			Events:   &stream,
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		lease, err := p.Acquire(context.Background(), "web", resources.Vector{1})
		if err != nil {
			fmt.Println(err)
			return
		}
		if _, ok := p.TryAcquire("etl", resources.Vector{2}); ok {
			fmt.Println("no room was expected")
		}
		if err := lease.Release(); err != nil {
			fmt.Println(err)
		}
	}
	events.Close()
	for e := range events.Events() {
		fmt.Printf("%s: %s\n", e.Tenant, e.Kind)
	}
	fmt.Println("dropped:", events.Dropped())
	// Output:
	// web: granted
	// etl: refused
	// web: released
	// web: granted
	// etl: refused
	// web: released
	// dropped: 0
}
