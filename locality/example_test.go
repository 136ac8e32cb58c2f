package locality_test

import (
	"fmt"

	"github.com/cellsched/cellsched/locality"
)

// Two workers have read a shard and keep it in their caches. How far is every
// other worker from it?
func Example() {
	topology, err := locality.New(locality.Config{
		Parents: map[string]string{"r1": "east", "r2": "east", "r3": "west"},
		Nodes:   []string{"r1", "r1", "r2", "r2", "r3"},
	})
	if err != nil {
		panic(err)
	}
	var caches locality.Replicas[string]
	caches.Add("shard-7", 3)
	caches.Add("shard-7", 0)

	holders := caches.Nodes("shard-7")
	fmt.Println("held by", holders)
	for n := range locality.Node(5) {
		fmt.Println(n, topology.LevelName(topology.Level(n, holders...)))
	}

	caches.Remove("shard-7", 3)
	fmt.Println("worker 2, after worker 3 evicted it:",
		topology.LevelName(topology.Level(2, caches.Nodes("shard-7")...)))
	// Output:
	// held by [0 3]
	// 0 node
	// 1 rack
	// 2 rack
	// 3 node
	// 4 any
	// worker 2, after worker 3 evicted it: zone
}

// A mistake in the description is told with the name that makes it one.
func ExampleNew() {
	_, err := locality.New(locality.Config{
		Levels:  []string{"node", "rack", "any"},
		Parents: map[string]string{"r1": "row-4"},
		Nodes:   []string{"r1"},
	})
	fmt.Println(err)
	// Output:
	// locality: topology: group "row-4" around group "r1" would be at level 2, want groups below the last level, 2 "any"
}

// Machines come and go. A rack that is new comes with its first node; one that
// is known need not be described again.
func ExampleTopology_Add() {
	topology, err := locality.New(locality.Config{Nodes: []string{"r1", "r1"}})
	if err != nil {
		panic(err)
	}
	for n, path := range [][]string{2: {"r2", "east"}, 3: {"r2"}, 4: {"r3", "east"}} {
		if path != nil {
			if err := topology.Add(locality.Node(n), path...); err != nil {
				panic(err)
			}
		}
	}
	for n := range locality.Node(5) {
		fmt.Println(n, topology.LevelName(topology.Level(n, 3)))
	}
	if err := topology.Remove(2); err != nil {
		panic(err)
	}
	fmt.Println("2", topology.LevelName(topology.Level(2, 3)), "once it is removed")
	fmt.Println(topology.Add(1, "r2", "west"))
	// Output:
	// 0 any
	// 1 any
	// 2 rack
	// 3 node
	// 4 zone
	// 2 any once it is removed
	// locality: topology: add node 1: group "r2" is in "east", not in "west"
}

// A task reads a large block and two small ones: the node with most of its
// input is not the one with most of its blocks.
func ExampleReplicas_Holders() {
	var replicas locality.Replicas[string]
	replicas.Add("edges", 4)
	for _, n := range []locality.Node{2, 7} {
		replicas.Add("names", n)
		replicas.Add("colours", n)
	}
	inputs := []locality.Input[string]{{"edges", 900}, {"names", 30}, {"colours", 20}}
	for _, h := range replicas.Holders(inputs...) {
		fmt.Println("node", h.Node, "has", h.Bytes)
	}
	// Output:
	// node 4 has 900
	// node 2 has 50
	// node 7 has 50
}

// Tasks keep asking for a block that one busy node holds. Where would a second
// replica pay, and what may that node give up for it?
func ExampleDemand() {
	var replicas locality.Replicas[string]
	replicas.Add("popular", 1)
	replicas.Add("rare", 5)
	replicas.Add("shared", 5)
	replicas.Add("shared", 6)
	demand, err := locality.NewDemand[string](1000)
	if err != nil {
		panic(err)
	}
	for _, read := range []struct {
		block string
		node  locality.Node
		level locality.Level
		times int
	}{
		{"popular", 1, locality.NodeLocal, 50},
		{"popular", 5, locality.RackLocal, 20},
		{"popular", 6, locality.Anywhere, 15},
		{"shared", 6, locality.NodeLocal, 12},
		{"rare", 5, locality.NodeLocal, 8},
	} {
		for range read.times {
			if err := demand.Record(read.block, 64<<20, read.node, read.level); err != nil {
				panic(err)
			}
		}
	}
	for _, s := range demand.HotSpots(&replicas, 3) {
		fmt.Printf("copy %s to node %d: %d MiB more are local\n", s.Block, s.Node, s.Gain>>20)
	}
	fmt.Println("node 5 evicts", demand.Evict(&replicas, "rare", "shared")[0])
	// Output:
	// copy popular to node 5: 2240 MiB more are local
	// node 5 evicts shared
}
