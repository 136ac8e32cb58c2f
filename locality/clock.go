package locality

import (
	"sync"

	"github.com/puzpuzpuz/xsync/v3"
)

// clock bounds how many blocks a Replicas knows: second chance, with a hand
// that goes round over a ring of blocks.
//
// Every block in the map is in the ring, or its writer is about to put it
// there. Not every one in the ring is in the map, and one may be in it twice
// after it was removed and came back: the hand then takes it for what it is at
// the time, and may forget it early.
type clock[B comparable] struct {
	most int

	mu   sync.Mutex
	ring []B
	hand int
}

// admit puts a block that has come to the map into the ring, and forgets
// another one if that is full. It ends: the hand clears each mark that it
// passes, and readers would have to set all of them again before it is round;
// after two rounds it takes whatever is there.
func (c *clock[B]) admit(m *xsync.MapOf[B, list], block B) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ring) < c.most {
		c.ring = append(c.ring, block)
		return
	}
	for range 2 * len(c.ring) {
		l, ok := m.Load(c.ring[c.hand])
		if !ok || !l.used.Swap(false) {
			break
		}
		c.hand = (c.hand + 1) % len(c.ring)
	}
	if old := c.ring[c.hand]; old != block {
		m.Delete(old)
	}
	c.ring[c.hand] = block
	c.hand = (c.hand + 1) % len(c.ring)
}
