package pools_test

import (
	"cmp"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/resources"
)

// Scientists need CPUs and GPUs at once; in engineering, developers need CPUs,
// production needs GPUs. Engineering gets half of both kinds, although each of
// its two jobs wants one only: by users it would be a third.
func ExampleTree() {
	space, _ := resources.NewSpace(resources.Dimension{Name: "cpu"}, resources.Dimension{Name: "gpu"})
	total, _ := space.Parse("cpu=12,gpu=12")
	tree, _ := pools.New[string](total, nil)
	eng, _ := tree.AddPool(tree.Root(), "eng", pools.Config{})
	for _, j := range []struct {
		pool       pools.Node
		name, need string
	}{
		{tree.Root(), "sci", "cpu=1,gpu=1"},
		{eng, "dev", "cpu=1"},
		{eng, "prod", "gpu=1"},
	} {
		need, _ := space.Parse(j.need)
		job, _ := tree.AddJob(j.pool, j.name, pools.Config{})
		_ = tree.Demand(job, need)
	}

	started := map[string]int{}
	for free := total; ; {
		job, ok := tree.Pick(free)
		if !ok {
			break
		}
		need, _ := tree.Next(job)
		_ = tree.Charge(job, need)
		free, _ = free.Sub(need)
		name, _ := tree.Key(job)
		started[name]++
	}
	fmt.Println(started)
	held, _ := tree.Usage(eng)
	fmt.Println("engineering:", space.Format(held))
	// Output:
	// map[dev:6 prod:6 sci:6]
	// engineering: cpu=6,gpu=6
}

// A pool may have an order of its own, also one that is not in this package:
// here the deadline is the priority, and the earliest goes first.
func ExampleOrder() {
	earliest := func(a, b pools.Child) int { return cmp.Compare(a.Priority(), b.Priority()) }
	tree, _ := pools.New[string](resources.Vector{100}, earliest)
	for name, deadline := range map[string]int64{"noon": 12, "evening": 18, "breakfast": 8} {
		job, _ := tree.AddJob(tree.Root(), name, pools.Config{Priority: deadline})
		_ = tree.Demand(job, resources.Vector{60})
	}
	job, _ := tree.Pick(resources.Vector{100})
	fmt.Println(tree.Key(job))
	// Output: breakfast true
}

// Two readings of a pool's meter give its average usage in between.
func ExampleTree_Tally() {
	tree, _ := pools.New[string](resources.Vector{10}, nil)
	pool, _ := tree.AddPool(tree.Root(), "pool", pools.Config{})
	job, _ := tree.AddJob(pool, "job", pools.Config{})

	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	_ = tree.Advance(noon)
	_ = tree.Charge(job, resources.Vector{8})
	_ = tree.Advance(noon.Add(15 * time.Minute))
	_ = tree.Credit(job, resources.Vector{6})
	_ = tree.Advance(noon.Add(time.Hour))

	now, _ := tree.Tally(pool)
	held, span := now.Since(pools.Tally{})
	fmt.Printf("%.0f %% of the cell for %v\n", 100*held[0], span)
	// Output: 35 % of the cell for 1h0m0s
}
