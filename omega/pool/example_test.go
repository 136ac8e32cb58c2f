package pool_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// CPU, memory and database connections in one process: a report that would take
// the last connections waits, however much CPU there is.
func Example() {
	space, err := resources.NewSpace(resources.CPU(), resources.Memory(), resources.Dimension{Name: "conns"})
	if err != nil {
		panic(err)
	}
	capacity, err := space.Parse("cpu=8,memory=16Gi,conns=20")
	if err != nil {
		panic(err)
	}
	p, err := pool.New(pool.Config{Space: space, Machines: []omega.Machine{{Name: "this process", Capacity: capacity}}})
	if err != nil {
		panic(err)
	}
	reports, err := p.Tenant("reports")
	if err != nil {
		panic(err)
	}

	need, _ := space.Parse("cpu=1,memory=512Mi,conns=12")
	first, err := reports.Acquire(context.Background(), need)
	if err != nil {
		panic(err)
	}
	_, ok := reports.TryAcquire(need)
	fmt.Println("a second one:", ok)
	fmt.Println("free:", space.Format(p.Stats().Free))

	if err := first.Release(); err != nil {
		panic(err)
	}
	second, ok := reports.TryAcquire(need)
	fmt.Println(second, ok)
	fmt.Println(first.Release())
	// Output:
	// a second one: false
	// free: cpu=7,memory=15872Mi,conns=8
	// reports: cpu=1,memory=512Mi,conns=12 on this process true
	// pool: release: lease is already released
}

// A paying tenant gets three times the time of a free one, whatever each sends.
// The pool runs the tasks itself, as many at a time as there is room for.
func ExampleTenant_Go() {
	p, err := pool.New(pool.Config{
		Machines: []omega.Machine{{Name: "host", Capacity: resources.Vector{2}}},
		Tenants:  map[string]pool.Settings{"paying": {Weight: 3}, "free": {Weight: 1}},
	})
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"free", "paying"} {
		t, err := p.Tenant(name)
		if err != nil {
			panic(err)
		}
		for range 40 {
			if err := t.Go(context.Background(), resources.Vector{1}, func(context.Context, pool.Lease) error {
				return nil // the work
			}); err != nil {
				panic(err)
			}
		}
	}
	if err := p.Shutdown(context.Background()); err != nil { // runs all that is queued
		panic(err)
	}
	for _, t := range p.Stats().Tenants {
		fmt.Println(t.Name, t.Granted)
	}
	// Output:
	// free 40
	// paying 40
}

// Tasks that belong together: the first error ends the others.
func ExampleGroup() {
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "host", Capacity: resources.Vector{4}}}})
	if err != nil {
		panic(err)
	}
	batch, err := p.Tenant("batch")
	if err != nil {
		panic(err)
	}
	g, _ := batch.Group(context.Background())
	for i := range 10 {
		_ = g.Go(resources.Vector{1}, func(ctx context.Context, _ pool.Lease) error {
			if i == 3 {
				return errors.New("shard 3 is corrupt")
			}
			return nil
		})
	}
	fmt.Println(g.Wait())
	// Output:
	// shard 3 is corrupt
}

// The team "web" is owed half of the pool. The batch jobs that use it meanwhile
// are told to stop when the team wants it back.
func ExampleTenant_Tenant() {
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "host", Capacity: resources.Vector{4}}}})
	if err != nil {
		panic(err)
	}
	team, err := p.Tenant("web", pool.Settings{Guarantee: resources.Vector{2}})
	if err != nil {
		panic(err)
	}
	checkout, err := team.Tenant("checkout")
	if err != nil {
		panic(err)
	}
	batch, err := p.Tenant("batch")
	if err != nil {
		panic(err)
	}
	stopped := make(chan error, 4)
	for range 4 {
		_ = batch.Go(context.Background(), resources.Vector{1}, func(ctx context.Context, _ pool.Lease) error {
			<-ctx.Done() // a long job that stops when it is told to
			stopped <- context.Cause(ctx)
			return nil
		})
	}
	lease, err := checkout.Acquire(context.Background(), resources.Vector{1})
	fmt.Println("batch:", <-stopped)
	fmt.Println(lease, err)

	// The other batch jobs go on until the pool is shut down.
	_ = lease.Release()
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // no time to drain
	_ = p.Shutdown(ctx)
	fmt.Println("batch:", <-stopped)
	// Output:
	// batch: pool: a guarantee takes the room back: lease is preempted
	// web/checkout: cpu=1m on host <nil>
	// batch: pool: pool is closed
}

// A task with its shard on node 2 waits a moment for it, then a moment for a machine of
// the same rack, and then takes any.
func ExampleTenant_Request() {
	topology, err := locality.New(locality.Config{
		Levels: []string{"node", "rack", "any"},
		Nodes:  []string{"rack-a", "rack-a", "rack-b", "rack-b"},
	})
	if err != nil {
		panic(err)
	}
	one := resources.Vector{1}
	var machines []omega.Machine
	for i := range 4 {
		machines = append(machines, omega.Machine{Name: fmt.Sprint("node-", i), Capacity: one})
	}
	p, err := pool.New(pool.Config{
		Machines: machines, Topology: topology,
		Delay: delay.Policy{Waits: delay.Waits{2 * time.Millisecond, 5 * time.Millisecond}},
	})
	if err != nil {
		panic(err)
	}
	etl, err := p.Tenant("etl")
	if err != nil {
		panic(err)
	}
	for range 3 {
		leases, err := etl.Request(context.Background(), pool.Request{Needs: []resources.Vector{one}, Prefer: []locality.Node{2}})
		if err != nil {
			panic(err)
		}
		fmt.Printf("on node %d: %s\n", leases[0].Node(), topology.LevelName(leases[0].Level()))
	}
	// Output:
	// on node 2: node
	// on node 3: rack
	// on node 0: any
}
