package pools_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/resources"
)

// Production has a min share of 60 of 100 CPUs. While it is idle, research holds
// them all. When production wants them, its fair share is 60, although research
// holds them.
func ExampleTree_Standings() {
	tree, err := pools.New[string](resources.Vector{100}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	production, _ := tree.AddPool(tree.Root(), "production", pools.Config{Min: resources.Vector{60}})
	research, _ := tree.AddPool(tree.Root(), "research", pools.Config{})
	web, _ := tree.AddJob(production, "web", pools.Config{})
	genes, _ := tree.AddJob(research, "genes", pools.Config{})
	climate, _ := tree.AddJob(research, "climate", pools.Config{Weight: 3})
	for _, job := range []pools.Node{genes, climate} {
		_ = tree.Charge(job, resources.Vector{50})
		_ = tree.Demand(job, resources.Vector{1})
		_ = tree.Backlog(job, resources.Vector{1000})
	}

	show := func(when string) {
		fmt.Println(when)
		for _, s := range tree.Standings()[1:] {
			key, _ := tree.Key(s.Node)
			fmt.Printf("  %-10s holds %3d of %4d, min %2d, fair %3d\n", key, s.Usage[0], s.Wants[0], s.Min[0], s.Fair[0])
		}
	}
	show("production is idle")
	_ = tree.Demand(web, resources.Vector{1})
	_ = tree.Backlog(web, resources.Vector{70})
	show("production wants 70")
	// Output:
	// production is idle
	//   production holds   0 of    0, min  0, fair   0
	//   research   holds 100 of 2100, min  0, fair 100
	//   web        holds   0 of    0, min  0, fair   0
	//   genes      holds  50 of 1050, min  0, fair  25
	//   climate    holds  50 of 1050, min  0, fair  75
	// production wants 70
	//   production holds   0 of   70, min 60, fair  60
	//   research   holds 100 of 2100, min  0, fair  40
	//   web        holds   0 of   70, min  0, fair  60
	//   genes      holds  50 of 1050, min  0, fair  10
	//   climate    holds  50 of 1050, min  0, fair  30
}

// A late pool gets room only as tasks of the early one end. It is no longer
// starved once it has half of its share; if it were for a minute, it would be
// time to preempt.
func ExampleHunger() {
	tree, err := pools.New[string](resources.Vector{100}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	early, _ := tree.AddJob(tree.Root(), "early", pools.Config{})
	late, _ := tree.AddJob(tree.Root(), "late", pools.Config{Min: resources.Vector{10}})
	_ = tree.Charge(early, resources.Vector{100})
	for _, job := range []pools.Node{early, late} {
		_ = tree.Demand(job, resources.Vector{1})
		_ = tree.Backlog(job, resources.Vector{1000})
	}

	var hunger pools.Hunger
	start := time.Date(2010, time.April, 13, 12, 0, 0, 0, time.UTC)
	for at := time.Duration(0); at <= 75*time.Second; at += 15 * time.Second {
		now := start.Add(at)
		if err := hunger.Observe(now, tree.Standings()); err != nil {
			fmt.Println(err)
			return
		}
		if len(slices.Collect(hunger.Starved())) == 0 {
			fmt.Println(at, "no job is starved")
		}
		for s := range hunger.Starved() {
			key, _ := tree.Key(s.Node)
			fmt.Print(at, " ", key, " is starved")
			if !s.OfMin.IsZero() {
				fmt.Printf(", of its min share for %v", now.Sub(s.OfMin))
			}
			if !s.OfFair.IsZero() {
				fmt.Printf(", of its fair share for %v", now.Sub(s.OfFair))
			}
			fmt.Println()
		}
		_ = tree.Credit(early, resources.Vector{6}) // six tasks end
		_ = tree.Charge(late, resources.Vector{6})
	}
	// Output:
	// 0s late is starved, of its min share for 0s, of its fair share for 0s
	// 15s late is starved, of its min share for 15s, of its fair share for 15s
	// 30s late is starved, of its fair share for 30s
	// 45s late is starved, of its fair share for 45s
	// 1m0s late is starved, of its fair share for 1m0s
	// 1m15s no job is starved
}
