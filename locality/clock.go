package locality

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v3"
)

// clock bounds the number of copies that a Replicas knows: second chance, with a
// hand that goes round over a ring of blocks.
//
// When no call is under way, the ring has each block in the map once and no other,
// and copies is their number in the map. The goroutine that adds a block to the map
// or takes it out also updates the ring.
type clock[B comparable] struct {
	most   int64
	copies atomic.Int64 // copies that writers have added to the map, less those they took

	// marks has one for each block in the ring. Written under mu.
	marks *xsync.MapOf[B, *mark]

	mu   sync.Mutex
	ring []B
	hand int
}

type mark struct {
	used atomic.Bool // set by a look-up of the block, cleared by the hand
	at   int         // in the ring; under mu
}

func newClock[B comparable](most int) *clock[B] {
	return &clock[B]{most: int64(most), marks: xsync.NewMapOf[B, *mark]()}
}

// use gives block a second chance. Most times it has one already, and the mark is
// only read.
func (c *clock[B]) use(block B) {
	if k, ok := c.marks.Load(block); ok && !k.used.Load() {
		k.used.Store(true)
	}
}

// added notes one copy more of a block, on n. Fresh reports that the block came to
// the map with it. If that is one copy too many, other blocks are forgotten.
func (c *clock[B]) added(m *xsync.MapOf[B, []Node], block B, n Node, fresh bool) {
	over := c.copies.Add(1) > c.most
	if !fresh && !over {
		c.use(block)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// It may be in the ring: it was taken from the map and is back before that is
	// noted. If it is gone again it must not be put there: the goroutine that took
	// it may have looked for it already.
	_, known := m.Load(block)
	switch _, ok := c.marks.Load(block); {
	case ok:
		c.use(block)
	case known:
		c.marks.Store(block, &mark{at: len(c.ring)})
		c.ring = append(c.ring, block)
	}
	c.forget(m, block, n)
}

// taken notes so many copies less of a block, and takes it out of the ring if these
// were all. If the block is in the map again it stays: the goroutine that put it
// there finds it in the ring, or has yet to look.
func (c *clock[B]) taken(m *xsync.MapOf[B, []Node], block B, copies int, gone bool) {
	c.copies.Add(-int64(copies))
	if !gone {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.marks.Load(block)
	if _, back := m.Load(block); ok && !back {
		c.drop(k.at)
	}
}

// forget takes blocks from the map until the number of copies is within the bound.
// It takes the latest only if that is alone, and then not its copy on n. Under mu.
//
// The hand clears each mark that it passes. After two rounds, when readers have set
// all of them again, it takes any block.
func (c *clock[B]) forget(m *xsync.MapOf[B, []Node], latest B, n Node) {
	for passed := 0; c.copies.Load() > c.most; c.hand++ {
		switch len(c.ring) {
		case 0:
			return // the goroutine about to add to the ring will keep the bound
		case 1:
			if c.ring[0] == latest {
				c.shrink(m, latest, n)
				return
			}
		}
		if c.hand >= len(c.ring) {
			c.hand = 0
		}
		block := c.ring[c.hand]
		k, ok := c.marks.Load(block)
		if block == latest || ok && k.used.Swap(false) && passed < 2*len(c.ring) {
			passed++
			continue
		}
		nodes, _ := m.LoadAndDelete(block)
		c.copies.Add(-int64(len(nodes)))
		c.drop(c.hand)
	}
}

// shrink forgets copies of a block that has too many by itself, but not n.
func (c *clock[B]) shrink(m *xsync.MapOf[B, []Node], block B, n Node) {
	less := int64(0)
	m.Compute(block, func(nodes []Node, _ bool) ([]Node, bool) {
		if less = max(int64(len(nodes))-c.most, 0); less == 0 {
			return nodes, len(nodes) == 0
		}
		at, _ := slices.BinarySearch(nodes, n)
		return slices.Clone(nodes[min(at, int(less)):][:c.most]), false
	})
	c.copies.Add(-less)
}

// drop takes block i out of the ring. Under mu.
func (c *clock[B]) drop(i int) {
	c.marks.Delete(c.ring[i])
	last := len(c.ring) - 1
	c.ring[i] = c.ring[last]
	if k, ok := c.marks.Load(c.ring[i]); ok {
		k.at = i
	}
	clear(c.ring[last:]) // not to be kept alive
	c.ring = c.ring[:last]
}
