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
