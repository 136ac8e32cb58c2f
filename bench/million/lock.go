package main

import (
	"fmt"
	"slices"
	"sync"
)

// lockCell is a cell as one writes it by hand: a mutex, the machines' free room, a
// cursor at which searches go on, and a record for each claim.
type lockCell struct {
	mu     sync.Mutex
	free   []need
	cursor int
	slab   slab

	capacity need
	held     []handle // by task
}

// handle names a claim: its place in the slab, and which of those it is that
// had the place.
type handle struct{ index, generation uint32 }

type record struct {
	need       need
	machine    uint32
	generation uint32
}

// slab keeps records in chunks, or all in one that append copies as it grows.
type slab struct {
	chunks [][]record
	spare  []uint32 // records that were given back
	used   uint32
	append bool
}

const chunk = 1 << 12

func newLockCell(capacity need, machines int, byAppend bool) *lockCell {
	return &lockCell{
		free: slices.Repeat([]need{capacity}, machines), capacity: capacity,
		slab: slab{append: byAppend, chunks: make([][]record, 1)},
	}
}

func (c *lockCell) fill(needs []need, workers int) error {
	c.held = make([]handle, len(needs))
	return share(len(needs), workers, func(_, task int) (ok bool) {
		c.held[task], ok = c.claim(needs[task])
		return ok
	})
}

// claim is next fit: once around from where the last search ended.
func (c *lockCell) claim(n need) (handle, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range c.free {
		if n.fits(&c.free[c.cursor]) {
			return c.take(c.cursor, n), true
		}
		if c.cursor++; c.cursor == len(c.free) {
			c.cursor = 0
		}
	}
	return handle{}, false
}

// take claims on a machine where there is room.
func (c *lockCell) take(machine int, n need) handle {
	free := &c.free[machine]
	free.cpu -= n.cpu
	free.memory -= n.memory
	free.gpu -= n.gpu
	return c.slab.add(record{n, uint32(machine), 1})
}

// giveBack ends a claim, unless it has ended.
func (c *lockCell) giveBack(h handle) bool {
	r := c.slab.at(h.index)
	if r.generation != h.generation {
		return false
	}
	free := &c.free[r.machine]
	free.cpu += r.need.cpu
	free.memory += r.need.memory
	free.gpu += r.need.gpu
	r.generation++
	c.slab.spare = append(c.slab.spare, h.index)
	return true
}

func (s *slab) at(i uint32) *record {
	if s.append {
		return &s.chunks[0][i]
	}
	return &s.chunks[1+i/chunk][i%chunk] // the first one is empty
}

func (s *slab) add(r record) handle {
	if n := len(s.spare); n > 0 {
		i := s.spare[n-1]
		s.spare = s.spare[:n-1]
		at := s.at(i)
		r.generation = at.generation
		*at = r
		return handle{i, r.generation}
	}
	last := len(s.chunks) - 1
	if !s.append && len(s.chunks[last]) == cap(s.chunks[last]) {
		s.chunks = append(s.chunks, make([]record, 0, chunk))
		last++
	}
	s.chunks[last] = append(s.chunks[last], r)
	s.used++
	return handle{s.used - 1, r.generation}
}

func (c *lockCell) conflicts() int { return 0 }

func (c *lockCell) check(tasks int) error {
	if int(c.slab.used) != tasks {
		return fmt.Errorf("%d claims, want %d", c.slab.used, tasks)
	}
	sum := slices.Clone(c.free)
	for _, records := range c.slab.chunks {
		for _, r := range records {
			m := &sum[r.machine]
			m.cpu += r.need.cpu
			m.memory += r.need.memory
			m.gpu += r.need.gpu
		}
	}
	for m, got := range sum {
		if got != c.capacity {
			return fmt.Errorf("machine %d: free + claimed = %v, want %v", m, got, c.capacity)
		}
	}
	return nil
}
