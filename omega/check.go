package omega

import (
	"fmt"
	"iter"

	"github.com/cellsched/cellsched/resources"
)

// Allocations walks the live allocations, machine by machine. Those of one
// machine were live together at one moment of the walk. It retries a machine
// that changes while it is read, so on a machine that never rests it may wait
// for a pause; it keeps nobody else from committing. The cell may change
// meanwhile, by the loop body too.
func (c *Cell) Allocations() iter.Seq[Allocation] {
	return func(yield func(Allocation) bool) {
		for node := range c.nodes.Load() {
			_, records := c.read(node)
			for _, a := range records {
				if !yield(a) {
					return
				}
			}
		}
	}
}

// read returns a machine's value and its live allocations at one moment.
func (c *Cell) read(node uint32) (*version, []Allocation) {
	w := c.words.at(node)
	for {
		val := load(w)
		allocations := c.liveIn(val)
		if load(w) == val {
			return val, allocations
		}
	}
}

// Check verifies that on every machine free plus the live allocations equal
// the capacity, that a removed machine has neither, and that no allocation
// appears twice. It returns an error that names the first machine where that
// does not hold. It is exact while others commit, one machine at a time.
// Cost: O(machines + allocations).
func (c *Cell) Check() error {
	seen := make(map[AllocationID]bool)
	for node := range c.nodes.Load() {
		val, allocations := c.read(node)
		var sum resources.Vector
		for _, a := range allocations {
			if seen[a.ID] {
				return fmt.Errorf("omega: machine %q: allocation %v appears twice", val.spec.Name, a.ID)
			}
			seen[a.ID] = true
			sum = sum.Add(a.Need)
		}
		want := val.spec.Capacity
		if val.spec.cond == Removed {
			want = resources.Vector{}
		}
		if got := val.free.Add(sum); got != want {
			return fmt.Errorf("omega: machine %q: free %v + allocated %v = %v, want capacity %v",
				val.spec.Name, val.free, sum, got, want)
		}
	}
	return nil
}
