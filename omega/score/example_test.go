package score_test

import (
	"errors"
	"fmt"
	"math"

	"github.com/cellsched/cellsched/omega/score"
	"github.com/cellsched/cellsched/resources"
)

// machine is one of a cell, as a search sees it.
type machine struct {
	name           string
	free, capacity resources.Vector
}

// best returns the machine on which f scores highest among those where need
// fits, the first in a tie.
func best(f score.Func, need resources.Vector, machines []machine) string {
	name, highest := "", math.Inf(-1)
	for i := range machines {
		m := &machines[i]
		if !resources.Fits(&need, &m.free) {
			continue
		}
		if s := f(&need, &m.free, &m.capacity); s > highest {
			name, highest = m.name, s
		}
	}
	return name
}

// Three machines have room for a task, in CPUs and GB. Which one it gets is a
// matter of what the cell is for.
func Example() {
	capacity := resources.Vector{16, 64}
	machines := []machine{
		{"runs a cache", resources.Vector{16, 28}, capacity},
		{"runs a build", resources.Vector{8, 62}, capacity},
		{"runs both", resources.Vector{6, 24}, capacity},
		{"is full", resources.Vector{1, 4}, capacity},
	}
	need := resources.Vector{6, 4}

	// The zero Weights lets CPU and memory count the same. Only weights that
	// are negative or very large are refused.
	least, err1 := score.LeastAllocated(score.Weights{})
	most, err2 := score.MostAllocated(score.Weights{})
	balanced, err3 := score.Balanced(score.Weights{})
	if err := errors.Join(err1, err2, err3); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("spread: ", best(least, need, machines))
	fmt.Println("pack:   ", best(most, need, machines))
	fmt.Println("balance:", best(balanced, need, machines))
	fmt.Println("align:  ", best(score.Tetris, need, machines))
	// Output:
	// spread:  runs a build
	// pack:    runs both
	// balance: runs a cache
	// align:   runs a cache
}

// Machines should be filled, but only to four fifths: the rest is for tasks
// that use more than they asked for.
func ExampleRequestedToCapacity() {
	f, err := score.RequestedToCapacity([]score.Point{{0, 0}, {80, 10}, {100, 2}}, score.Weights{})
	if err != nil {
		fmt.Println(err)
		return
	}
	need, capacity := resources.Vector{1}, resources.Vector{10}
	for _, free := range []int64{10, 6, 3, 1} {
		fmt.Printf("%2d used: %3.0f\n", 10-free+need[0], f(&need, &resources.Vector{free}, &capacity))
	}
	// Output:
	//  1 used:  12
	//  5 used:  62
	//  8 used: 100
	// 10 used:  20
}

// A task that needs no GPU goes to the machine without one, though it is the
// emptier of the two: all the GPUs would be left over on the other.
func ExampleLeastLeft() {
	machines := []machine{
		{"no GPU", resources.Vector{32, 64, 0}, resources.Vector{32, 64, 0}},
		{"8 GPUs", resources.Vector{32, 64, 8}, resources.Vector{64, 128, 8}},
	}
	f, err := score.LeastLeft(resources.Vector{64, 128, 8}, score.Weights{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(best(f, resources.Vector{4, 8}, machines))
	// Output:
	// no GPU
}

// A machine has CPUs and two GPUs, one of them half in use, each a kind of its
// own in thousandths. Tasks want half a GPU, or sometimes a whole one. The next
// half goes beside the first, since one task in four could use the whole GPU
// that remains.
func ExampleFragmentation_FGD() {
	const cpu, gpu0, gpu1 = 0, 1, 2
	f, err := score.NewFragmentation([]resources.Kind{gpu0, gpu1}, []score.Class{
		{Need: resources.Vector{cpu: 4, gpu0: 500}, Popularity: 3},
		{Need: resources.Vector{cpu: 8, gpu0: 1000}, Popularity: 1},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	capacity := resources.Vector{cpu: 64, gpu0: 1000, gpu1: 1000}
	free := resources.Vector{cpu: 60, gpu0: 500, gpu1: 1000}
	fmt.Println("fragmentation now:", f.Amount(&free))

	for _, gpu := range []int{gpu0, gpu1} {
		need := resources.Vector{cpu: 4}
		need[gpu] = 500
		fmt.Printf("half of kind %d: %+.0f\n", gpu, f.FGD(&need, &free, &capacity))
	}
	// Output:
	// fragmentation now: 125
	// half of kind 1: +125
	// half of kind 2: -125
}

// As Nomad counts: the machine with CPU and memory filled evenly wins over the
// one that is as full on average but has no CPU left.
func ExampleBinpack() {
	f, err := score.Binpack(score.Weights{1, 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	need, capacity := resources.Vector{2, 2}, resources.Vector{10, 10}
	for _, free := range []resources.Vector{{10, 10}, {6, 6}, {2, 10}, {2, 2}} {
		fmt.Printf("%v free: %.2f\n", free[:2], f(&need, &free, &capacity))
	}
	// Output:
	// [10 10] free: 0.41
	// [6 6] free: 0.83
	// [2 10] free: 0.71
	// [2 2] free: 1.00
}
