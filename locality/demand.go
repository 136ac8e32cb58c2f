package locality

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// Demand learns from the tasks that ran which blocks are asked for more than
// their replicas can serve, and which replicas are worth least. The delay
// scheduling paper advises more replicas where waiting does not help because
// the few nodes that hold a popular block are always busy.
//
// It counts a bounded number of blocks. One that is not counted takes the place
// of the one with the fewest bytes, and inherits these as an allowance for what
// it may have had before: space saving, A. Metwally, D. Agrawal and A. El
// Abbadi, "Efficient computation of frequent and top-k elements in data
// streams", ICDT 2005. So a block that has more than a 1/most of all bytes is
// always counted, and what is reported is without the allowance, never too
// much. The zero Demand counts nothing. All methods are safe for concurrent use.
type Demand[B comparable] struct {
	most int

	mu     sync.Mutex
	counts map[B]*asked[B]
	heap   []*asked[B] // the fewest bytes first
}

// asked is what was asked for of a block.
type asked[B comparable] struct {
	block     B
	at        int // in the heap
	bytes     int64
	allowance int64 // of bytes
	local     int64 // of bytes
	missed    int64 // of bytes

	// where has some of the nodes that the block was missed on: those with the
	// most, again by space saving.
	where [places]miss
}

type miss struct {
	node             Node
	bytes, allowance int64
}

// sure is what was missed there at least.
func (w *miss) sure() int64 { return w.bytes - w.allowance }

const places = 4

// NewDemand returns a Demand that counts at most so many blocks, 1 or more.
func NewDemand[B comparable](most int) (*Demand[B], error) {
	if most < 1 {
		return nil, fmt.Errorf("locality: demand for at most %d blocks, want at least 1", most)
	}
	return &Demand[B]{most: most, counts: make(map[B]*asked[B])}, nil
}

// Record notes that a task on node n has read so many bytes of block, from a
// copy at level l. Of none at all nothing is noted. It is an error if they are
// negative.
//
// Cost: O(log blocks), no allocation but for the first blocks.
func (d *Demand[B]) Record(block B, bytes int64, n Node, l Level) error {
	if d == nil {
		return absent("demand")
	}
	if bytes < 0 {
		return fmt.Errorf("locality: record %d bytes of block %v, want 0 or more", bytes, block)
	}
	if bytes == 0 || d.most == 0 {
		return nil // nor may it take the place of another block, or node
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c, ok := d.counts[block]
	switch {
	case ok:
	case len(d.heap) < d.most:
		c = &asked[B]{block: block, at: len(d.heap)}
		d.heap = append(d.heap, c)
		d.counts[block] = c
		d.up(c.at)
	default:
		c = d.heap[0]
		delete(d.counts, c.block)
		*c = asked[B]{block: block, bytes: c.bytes, allowance: c.bytes}
		d.counts[block] = c
	}
	c.bytes = plus(c.bytes, bytes)
	if l == 0 {
		c.local = plus(c.local, bytes)
	} else {
		c.missed = plus(c.missed, bytes)
		c.miss(n, bytes)
	}
	d.down(c.at)
	return nil
}

func (c *asked[B]) miss(n Node, bytes int64) {
	least := 0
	for i := range c.where {
		w := &c.where[i]
		if w.node == n && w.bytes > 0 {
			w.bytes = plus(w.bytes, bytes)
			return
		}
		if w.bytes < c.where[least].bytes {
			least = i
		}
	}
	w := &c.where[least]
	*w = miss{node: n, bytes: plus(w.bytes, bytes), allowance: w.bytes}
}

// Fade halves all that was counted, so that what was asked for long ago matters
// less. Call it at even intervals: what is reported is then what was recorded in
// about the last two of them. Cost: O(blocks).
func (d *Demand[B]) Fade() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.heap {
		// What is asked for is what remains of its parts, so that rounding
		// does not let one exceed another. The order of the heap may change.
		c.local, c.missed, c.allowance = c.local/2, c.missed/2, c.allowance/2
		c.bytes = plus(plus(c.local, c.missed), c.allowance)
		for i := range c.where {
			w := &c.where[i]
			w.bytes, w.allowance = w.bytes/2, w.allowance-w.allowance/2 // nor the gain come out too large
		}
	}
	for i := len(d.heap)/2 - 1; i >= 0; i-- {
		d.down(i)
	}
}

// HotSpot is a suggestion to copy Block to Node.
type HotSpot[B comparable] struct {
	Block B
	Node  Node
	Gain  int64 // bytes that would be read locally instead of not, in the time that was counted
}

// HotSpots returns up to k suggestions of one more replica, those with the
// largest gain first, each for another block.
//
// The node is the one of those that do not hold the block on which most of it
// was missed for sure, the lowest number of equals. The gain is that; or, if that is more, what one of the present replicas served
// locally on average, but not more than was missed in all: where tasks come to
// the nodes as they are free, a new replica will serve as much as each of the
// old ones. Cost: O(blocks log blocks).
func (d *Demand[B]) HotSpots(r *Replicas[B], k int) []HotSpot[B] {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	type spot struct {
		HotSpot[B]
		at int
	}
	var spots []spot
	for _, c := range d.heap {
		nodes := r.peek(c.block)
		best := -1
		for i, w := range c.where {
			if _, held := slices.BinarySearch(nodes, w.node); held || w.bytes == 0 {
				continue
			}
			if best < 0 || w.sure() > c.where[best].sure() || w.sure() == c.where[best].sure() && w.node < c.where[best].node {
				best = i
			}
		}
		if best < 0 {
			continue
		}
		w := c.where[best]
		gain := w.sure()
		if len(nodes) > 0 {
			gain = max(gain, min(c.local/int64(len(nodes)), c.missed))
		}
		if gain > 0 {
			spots = append(spots, spot{HotSpot[B]{c.block, w.node, gain}, c.at})
		}
	}
	slices.SortFunc(spots, func(a, b spot) int { return cmp.Or(cmp.Compare(b.Gain, a.Gain), cmp.Compare(a.at, b.at)) })
	var found []HotSpot[B]
	for _, s := range spots[:min(max(k, 0), len(spots))] {
		found = append(found, s.HotSpot)
	}
	return found
}

// Evict returns the blocks in the order in which a node that holds them should
// give them up: first those of which each replica has least to serve, as
// demand divided by replicas; of equals, those given first. It takes that node
// for one of the replicas, and a block that is not counted for one that nobody
// asks for. The last copy of a block is as any other: leave out what must not
// be lost. Cost: O(given blocks log).
func (d *Demand[B]) Evict(r *Replicas[B], blocks ...B) []B {
	if d == nil {
		return nil
	}
	type cost struct {
		block B
		bytes int64
	}
	d.mu.Lock()
	costs := make([]cost, len(blocks))
	for i, b := range blocks {
		costs[i].block = b
		if c, ok := d.counts[b]; ok {
			costs[i].bytes = plus(c.local, c.missed) / int64(max(len(r.peek(b)), 1))
		}
	}
	d.mu.Unlock()
	slices.SortStableFunc(costs, func(a, b cost) int { return cmp.Compare(a.bytes, b.bytes) })
	order := make([]B, len(costs))
	for i, c := range costs {
		order[i] = c.block
	}
	return order
}

// up and down restore the heap where element i has fewer or more bytes than
// before.
func (d *Demand[B]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if d.heap[parent].bytes <= d.heap[i].bytes {
			return
		}
		d.swap(i, parent)
		i = parent
	}
}

func (d *Demand[B]) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(d.heap); child++ {
			if d.heap[child].bytes < d.heap[least].bytes {
				least = child
			}
		}
		if least == i {
			return
		}
		d.swap(i, least)
		i = least
	}
}

func (d *Demand[B]) swap(i, j int) {
	d.heap[i], d.heap[j] = d.heap[j], d.heap[i]
	d.heap[i].at, d.heap[j].at = i, j
}
