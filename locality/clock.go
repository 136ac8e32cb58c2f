package locality

import (
	"sync"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v3"
)

// clock bounds how many blocks a Replicas knows: second chance, with a hand
// that goes round over a ring of blocks.
//
// The ring has each block in the map once, or its writer is about to put it
// there, and each one that is not, or its writer is about to take it out.
type clock[B comparable] struct {
	most int

	// marks has one for each block in the ring. Written under mu.
	marks *xsync.MapOf[B, *mark]

	mu   sync.Mutex
	ring []B
	hand int
}

type mark struct {
	used atomic.Bool // set by whoever asks for the block, cleared by the hand
	at   int         // in the ring; under mu
}

func newClock[B comparable](most int) *clock[B] {
	return &clock[B]{most: most, marks: xsync.NewMapOf[B, *mark]()}
}

// use gives block a second chance. Most times it has it already, and the mark
// is only read.
func (c *clock[B]) use(block B) {
	if k, ok := c.marks.Load(block); ok && !k.used.Load() {
		k.used.Store(true)
	}
}

// admit puts a block that has come to the map into the ring, and forgets
// another one if that is full. The hand clears each mark that it passes; after
// two rounds, when readers have set all of them again, it takes whatever is
// there.
func (c *clock[B]) admit(m *xsync.MapOf[B, []Node], block B) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.marks.Load(block); ok {
		return // it was taken from the map, and is back before leave
	}
	if len(c.ring) < c.most {
		c.marks.Store(block, &mark{at: len(c.ring)})
		c.ring = append(c.ring, block)
		return
	}
	for range 2 * len(c.ring) {
		if k, ok := c.marks.Load(c.ring[c.hand]); !ok || !k.used.Swap(false) {
			break
		}
		c.hand = (c.hand + 1) % len(c.ring)
	}
	m.Delete(c.ring[c.hand])
	c.marks.Delete(c.ring[c.hand])
	c.ring[c.hand] = block
	c.marks.Store(block, &mark{at: c.hand})
	c.hand = (c.hand + 1) % len(c.ring)
}

// leave takes a block that was taken from the map out of the ring, unless it is
// in the map again: who put it there finds it in the ring, or has yet to look.
func (c *clock[B]) leave(m *xsync.MapOf[B, []Node], block B) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.marks.Load(block)
	if _, back := m.Load(block); !ok || back {
		return
	}
	c.marks.Delete(block)
	last := len(c.ring) - 1
	moved := c.ring[last]
	c.ring[k.at] = moved
	if l, ok := c.marks.Load(moved); ok {
		l.at = k.at
	}
	clear(c.ring[last:]) // not to be kept alive
	c.ring = c.ring[:last]
	if c.hand >= last {
		c.hand = 0
	}
}
