package locality

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// Demand learns from finished reads which blocks are read more than their replicas
// can serve, and which replicas are worth least. The delay scheduling paper advises
// more replicas if waiting does not help, because the few nodes that hold a popular
// block are always busy.
//
// It counts a bounded number of blocks. A new block takes the place of the one with
// the fewest bytes. It inherits these as an allowance for its uncounted reads:
// space saving, A. Metwally, D. Agrawal and A. El Abbadi, "Efficient computation of
// frequent and top-k elements in data streams", ICDT 2005. So a block with more
// than a 1/most of all bytes is always counted. Results leave the allowance out and
// are never too large. The zero Demand counts nothing. All methods are safe for
// concurrent use.
type Demand[B comparable] struct {
	most int

	mu     sync.Mutex
	counts map[B]*asked[B]
	heap   []*asked[B] // the fewest bytes first
}

// asked is the count of the reads of a block.
type asked[B comparable] struct {
	block     B
	at        int // in the heap
	bytes     int64
	allowance int64 // of bytes
	local     int64 // of bytes
	missed    int64 // of bytes

	// where has some of the nodes that read the block from elsewhere: those with
	// the most bytes, again by space saving.
	where [places]miss
}

type miss struct {
	node             Node
	bytes, allowance int64
}

// sure returns a lower bound of the bytes missed there.
func (w *miss) sure() int64 { return w.bytes - w.allowance }

const places = 4

// NewDemand returns a Demand that counts at most so many blocks, 1 or more.
func NewDemand[B comparable](most int) (*Demand[B], error) {
	if most < 1 {
		return nil, fmt.Errorf("locality: demand for at most %d blocks, want at least 1", most)
	}
	return &Demand[B]{most: most, counts: make(map[B]*asked[B])}, nil
}

// Record adds a read by a task on node n: so many bytes of block, from a copy at
// level l. A read of 0 bytes counts for nothing. A negative number is an error.
// Cost: O(log blocks), no allocation except for the first blocks.
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

// Fade halves all counts, so that old reads matter less. Call it at even intervals:
// results then cover about the last two of them. Cost: O(blocks).
func (d *Demand[B]) Fade() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.heap {
		// The total is the sum of its remaining parts, so that rounding does not
		// let one exceed another. The order of the heap may change.
		c.local, c.missed, c.allowance = c.local/2, c.missed/2, c.allowance/2
		c.bytes = plus(plus(c.local, c.missed), c.allowance)
		for i := range c.where {
			w := &c.where[i]
			w.bytes, w.allowance = w.bytes/2, w.allowance-w.allowance/2 // nor the gain be too large
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
	Gain  int64 // bytes that would be read locally instead, in the counted time
}

// HotSpots returns up to k suggestions of one more replica, those with the largest
// gain first, each for another block. Cost: O(blocks log blocks).
//
// The node is one that does not hold the block: the one with the most bytes missed
// for sure, the lowest number of equals. The gain is the larger of two estimates,
// but not more than all missed bytes:
//
//   - the bytes missed on that node for sure;
//   - the average bytes that one of the present replicas served locally. If tasks
//     come to nodes as these are free, a new replica will serve as much as each of
//     the old ones.
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

// Evict returns the blocks in the order in which a node that holds them should give
// them up. First are those with the least to serve for each replica: demand divided
// by replicas. Equals stay in the given order.
//
// The node counts as one of the replicas, and a block without a count as one
// without reads. The last copy of a block is like any other: leave out blocks that
// must not be lost. Cost: O(given blocks log).
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
