package lockcell

import (
	"errors"
	"slices"
	"sync"
)

// Vector is an amount of the three kinds of resource that the benchmarks use.
type Vector struct{ CPU, Memory, GPU int64 }

// fits reports whether v is within free.
func (v Vector) fits(free *Vector) bool {
	return v.CPU <= free.CPU && v.Memory <= free.Memory && v.GPU <= free.GPU
}

// ErrReleased reports that the handle of a release is unknown, or was released
// before.
var ErrReleased = errors.New("lockcell: handle is not live")

// Cell is all machines under one mutex. It is safe for concurrent use, and no
// two operations overlap.
type Cell struct {
	mu     sync.Mutex
	free   []Vector // by machine
	cursor int      // where the next search begins
	slab   slab
	picks  []int32 // of ClaimGang, kept for its memory
}

// New returns a cell of machines with the given capacities.
func New(capacity []Vector, g Growth) *Cell {
	return &Cell{free: slices.Clone(capacity), slab: newSlab(g)}
}

// Claim takes need on the first machine with room for it, from the one on
// which the last search ended: next fit. It goes once around, so a need that
// fits nowhere costs O(machines).
func (c *Cell) Claim(need Vector) (Handle, bool) {
	c.mu.Lock()
	m := c.next(need)
	if m < 0 {
		c.mu.Unlock()
		return Handle{}, false
	}
	h := c.take(m, need)
	c.mu.Unlock()
	return h, true
}

// ClaimFirst is Claim from the first machine on: first fit. Cost: O(machines
// that are too full).
func (c *Cell) ClaimFirst(need Vector) (Handle, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for m := range c.free {
		if need.fits(&c.free[m]) {
			return c.take(m, need), true
		}
	}
	return Handle{}, false
}

// Release gives back the room of a claim. Errors: [ErrReleased].
func (c *Cell) Release(h Handle) error {
	c.mu.Lock()
	err := c.release(h)
	c.mu.Unlock()
	return err
}

// Free returns the room left on a machine.
func (c *Cell) Free(machine int) Vector {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.free[machine]
}

// next returns the machine with room for need nearest behind the cursor, or
// -1, with the mutex held.
func (c *Cell) next(need Vector) int {
	free := c.free
	for m := c.cursor; m < len(free); m++ {
		if need.fits(&free[m]) {
			c.cursor = m
			return m
		}
	}
	for m := range free[:c.cursor] {
		if need.fits(&free[m]) {
			c.cursor = m
			return m
		}
	}
	return -1
}

// take grants need on machine m, on which it fits, with the mutex held.
func (c *Cell) take(m int, need Vector) Handle {
	free := &c.free[m]
	free.CPU -= need.CPU
	free.Memory -= need.Memory
	free.GPU -= need.GPU
	return c.slab.add(int32(m), need)
}

// release is Release with the mutex held.
func (c *Cell) release(h Handle) error {
	r := c.slab.get(h)
	if r == nil {
		return ErrReleased
	}
	free := &c.free[r.machine]
	free.CPU += r.need.CPU
	free.Memory += r.need.Memory
	free.GPU += r.need.GPU
	c.slab.remove(h.index)
	return nil
}
