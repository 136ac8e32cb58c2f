package pool_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// CPU, memory and database connections in one process: a report that would
// take the last connections waits, whatever CPU there is.
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

	ctx := context.Background()
	report, _ := space.Parse("cpu=1,memory=512Mi,conns=12")
	first, err := p.Acquire(ctx, "reports", report)
	if err != nil {
		panic(err)
	}
	_, err = p.TryAcquire("reports", report)
	fmt.Println(err)
	fmt.Println("free:", space.Format(p.Stats().Free))

	if err := first.Release(); err != nil {
		panic(err)
	}
	second, err := p.TryAcquire("reports", report)
	fmt.Println(second, err)
	fmt.Println(first.Release())
	// Output:
	// pool: no room now: need cpu=1,memory=512Mi,conns=12
	// free: cpu=7,memory=15872Mi,conns=8
	// reports: cpu=1,memory=512Mi,conns=12 on node 0 <nil>
	// pool: lease is already released: reports: cpu=1,memory=512Mi,conns=12 on node 0
}

// Three tenants of unlike appetite want more than there is. Each gets as much
// of what it wants most as the others get of what they want most.
func ExamplePool_Stats() {
	space, err := resources.NewSpace(resources.CPU(), resources.Memory())
	if err != nil {
		panic(err)
	}
	capacity, _ := space.Parse("cpu=47,memory=96Gi")
	p, err := pool.New(pool.Config{Space: space, Machines: []omega.Machine{{Name: "host", Capacity: capacity}}})
	if err != nil {
		panic(err)
	}
	// While one lease holds everything, the others queue up.
	all, err := p.TryAcquire("admin", capacity)
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for tenant, text := range map[string]string{
		"crunch": "cpu=2,memory=1Gi", "cache": "cpu=500m,memory=3Gi", "web": "cpu=1,memory=256Mi",
	} {
		need, _ := space.Parse(text)
		for range 64 {
			wg.Go(func() {
				if lease, err := p.Acquire(ctx, tenant, need); err == nil {
					<-ctx.Done() // the work
					_ = lease.Release()
				}
			})
		}
	}
	for p.Stats().Waiting < 3*64 {
		runtime.Gosched()
	}
	if err := all.Release(); err != nil {
		panic(err)
	}
	for _, t := range p.Stats().Tenants {
		if t.Leases > 0 {
			kind, _ := space.Dimension(t.Dominant)
			fmt.Printf("%-6s %2d leases, %-20s %.0f%% of the %s\n", t.Name, t.Leases, space.Format(t.Held), 100*t.Share, kind.Name)
		}
	}
	cancel()
	wg.Wait()
	// Output:
	// cache  14 leases, cpu=7,memory=42Gi    44% of the memory
	// crunch 10 leases, cpu=20,memory=10Gi   43% of the cpu
	// web    20 leases, cpu=20,memory=5Gi    43% of the cpu
}

// A task whose shard is on node 2 waits a moment for it, then a moment for a
// machine of the same rack, and then takes any.
func ExamplePool_Acquire_locality() {
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
	for range 3 {
		lease, err := p.Acquire(context.Background(), "etl", one, 2)
		if err != nil {
			panic(err)
		}
		fmt.Printf("on node %d: %s\n", lease.Node(), topology.LevelName(lease.Level()))
	}
	// Output:
	// on node 2: node
	// on node 3: rack
	// on node 0: any
}

// Who needs several machines takes them at once: holding one while waiting for
// the next could deadlock with another who does the same.
func ExamplePool_AcquireAll() {
	capacity := resources.Vector{4}
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "a", Capacity: capacity}, {Name: "b", Capacity: capacity}}})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	leases, err := p.AcquireAll(ctx, "training", []resources.Vector{{3}, {3}})
	if err != nil {
		panic(err)
	}
	fmt.Println("on nodes", leases[0].Node(), "and", leases[1].Node())

	// A third one would have to wait; a need that no machine could ever meet
	// is refused at once.
	_, err = p.TryAcquire("training", resources.Vector{3})
	fmt.Println(errors.Is(err, pool.ErrNoRoom))
	_, err = p.Acquire(ctx, "training", resources.Vector{5})
	fmt.Println(errors.Is(err, pool.ErrNeed))
	// Output:
	// on nodes 0 and 1
	// true
	// true
}
