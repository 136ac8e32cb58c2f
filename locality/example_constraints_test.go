package locality_test

import (
	"fmt"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A job of training tasks must have a GPU with more than 40 GiB, and prefers
// machines that stay. At least half of its tasks are to survive the loss of any one
// rack. The cell knows the free room.
func ExampleAttributes() {
	var (
		attributes locality.Attributes
		cfg        omega.Config
		racks      locality.Config
	)
	for _, m := range []struct {
		name, rack string
		gpu        int64 // GiB
		spot       bool
	}{
		{"a1", "r1", 80, true},
		{"a2", "r1", 80, false},
		{"a3", "r1", 80, false},
		{"a4", "r1", 16, false},
		{"b1", "r2", 0, false},
		{"b2", "r2", 48, true},
		{"b3", "r2", 48, false},
	} {
		// Machines of a new cell are numbered in order.
		node := locality.Node(len(cfg.Machines))
		cfg.Machines = append(cfg.Machines, omega.Machine{Name: m.name, Capacity: resources.Vector{2}})
		racks.Nodes = append(racks.Nodes, m.rack)
		values := map[string]locality.Value{}
		if m.gpu > 0 {
			values["gpu"] = locality.Number(m.gpu)
		}
		if m.spot {
			values["lease"] = locality.Text("spot")
		}
		if err := attributes.Describe(node, values); err != nil {
			panic(err)
		}
	}
	topology, err := locality.New(racks)
	if err != nil {
		panic(err)
	}

	bigGPU, err := attributes.Register(locality.Greater("gpu", 40))
	if err != nil {
		panic(err)
	}
	spot, err := attributes.Register(locality.Equal("lease", locality.Text("spot")))
	if err != nil {
		panic(err)
	}
	need, err := attributes.Require(bigGPU)
	if err != nil {
		panic(err)
	}
	order, err := need.Prefer(locality.Preference{Constraint: spot, Worth: -1})
	if err != nil {
		panic(err)
	}
	spread, err := locality.NewSpread(topology, 1, 2) // one a node, two a rack
	if err != nil {
		panic(err)
	}

	cell, err := omega.NewCell(cfg)
	if err != nil {
		panic(err)
	}
	scheduler, err := cell.Register("training", omega.Limits{})
	if err != nil {
		panic(err)
	}
	snapshot := scheduler.Snapshot()
	task := resources.Vector{1}
	for i := range 5 {
		m, ok := snapshot.Find(omega.Query{Need: task, Among: order.From(0), Allow: spread.Allows}, omega.NextFit())
		if !ok {
			fmt.Printf("task %d: none of %d machines is left\n", i, need.Count())
			break
		}
		snapshot.Take(m, task)
		spread.Add(m.Node())
		worth, _ := order.Worth(m.Node())
		fmt.Printf("task %d: %s (worth %d)\n", i, cfg.Machines[m.Node()].Name, worth)
	}
	// Output:
	// task 0: a2 (worth 0)
	// task 1: a3 (worth 0)
	// task 2: b3 (worth 0)
	// task 3: b2 (worth -1)
	// task 4: none of 5 machines is left
}

// Attributes have types, and a mistake is told before anything is matched.
func ExampleAttributes_Register() {
	var attributes locality.Attributes
	if err := attributes.Describe(0, map[string]locality.Value{"clock": locality.Number(3100)}); err != nil {
		panic(err)
	}
	_, err := attributes.Register(locality.Equal("clock", locality.Text("3.1 GHz")))
	fmt.Println(err)
	// Output:
	// locality: predicate "clock" = "3.1 GHz": "clock" is a number, not text: attribute is of another type
}

// Schedulers that start at places of their own find machines of their own.
func ExampleConstraints_From() {
	var attributes locality.Attributes
	for n := range locality.Node(200) {
		values := map[string]locality.Value{"disks": locality.Number(int64(n % 40))}
		if err := attributes.Describe(n, values); err != nil {
			panic(err)
		}
	}
	many, err := attributes.Register(locality.Greater("disks", 37))
	if err != nil {
		panic(err)
	}
	need, err := attributes.Require(many)
	if err != nil {
		panic(err)
	}
	for _, start := range []locality.Node{0, 119} {
		fmt.Println(slices.Collect(need.From(start)))
	}
	// Output:
	// [38 39 78 79 118 119 158 159 198 199]
	// [119 158 159 198 199 38 39 78 79 118]
}
