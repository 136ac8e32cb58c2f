package late

import (
	"math"
	"sync"
	"time"

	"github.com/cellsched/cellsched/locality"
)

// Config sizes a [Book].
type Config struct {
	// Nodes is the number of nodes: their numbers are below it.
	Nodes int

	// Slots is the number of tasks that run at a time, on all nodes together.
	Slots int

	// HalfLife is the time after which an observation of a node counts half as
	// much: ten minutes by default.
	HalfLife time.Duration
}

// Book is the shared state of a cell's jobs: the speed of each node, and the number
// of running copies.
//
// A node's speed is the progress of attempts on it over the time they took.
// Progress is in units of the average progress of the same job in the same time. So
// 1 is an average node, and one job's observations serve the others. The paper adds
// up progress instead, by which a node that joined an hour ago is slow. Jobs with
// slow nodes only look like jobs of long tasks; jobs on other nodes show the
// difference.
//
// The zero Book has no nodes and the default half-life: [Book.Resize] sets their
// number. All methods are safe for concurrent use and hold a mutex for no longer
// than they take. A Book keeps 24 bytes a node.
type Book struct {
	halfLife float64 // nanoseconds

	mu     sync.Mutex
	nodes  []seen
	speeds ranks // of the observed nodes
	slots  int
	copies int
}

// seen is the observed work of a node: progress in units of the average attempt's
// time, and the time. Both fade alike, so that only observations change their
// ratio.
type seen struct {
	work, took float64
	until      time.Duration // since 1970, when they last faded
}

// NewBook returns a book without observations. A number of nodes or slots below 1,
// and a half-life below 0, fail with [ErrSize].
func NewBook(c Config) (*Book, error) {
	if c.HalfLife < 0 {
		return nil, refuse(ErrSize, "book: half-life %v, want 0 or more", c.HalfLife)
	}
	b := &Book{halfLife: float64(c.HalfLife)}
	if err := b.Resize(c.Nodes, c.Slots); err != nil {
		return nil, err
	}
	return b, nil
}

// Resize sets the number of nodes and slots from now on. Observations of removed
// nodes are forgotten; running copies go on even if fewer may. Errors: as
// [NewBook]. Cost: O(nodes).
func (b *Book) Resize(nodes, slots int) error {
	if b == nil {
		return absent("book")
	}
	if nodes < 1 || slots < 1 || nodes > math.MaxInt32 {
		return refuse(ErrSize, "book: %d nodes with %d slots, want 1 to %d and 1 or more", nodes, slots, math.MaxInt32)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	orElse(&b.halfLife, float64(10*time.Minute))
	for _, s := range b.nodes[min(nodes, len(b.nodes)):] {
		if s.took > 0 {
			b.speeds.add(key(s.work/s.took), -1)
		}
	}
	kept := make([]seen, nodes)
	copy(kept, b.nodes)
	b.nodes, b.slots = kept, slots
	return nil
}

// Observe adds an observation of a node. Took is the time up to now, and work the
// time that an average node takes for the same work.
//
// Jobs call it by themselves with every report; it is for other measurements of the
// caller. Observations out of order count as of now. Cost: O(1), plus O(log nodes)
// when the speed has changed by 1/64. Errors: [ErrCall] for an unknown node;
// [ErrSize] for work that is negative, and time that is not positive.
func (b *Book) Observe(now time.Time, node locality.Node, work, took time.Duration) error {
	if b == nil {
		return absent("book")
	}
	if work < 0 || took <= 0 {
		return refuse(ErrSize, "observe node %d: work %v in %v, want work of 0 or more and time of more than 0", node, work, took)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if uint(node) >= uint(len(b.nodes)) {
		return badNode("observe", node, len(b.nodes))
	}
	b.observe(sinceEpoch(now), node, float64(work), float64(took))
	return nil
}

// observe is Observe, with b.mu held.
func (b *Book) observe(now time.Duration, node locality.Node, work, took float64) {
	s := &b.nodes[node]
	known, was := s.took > 0, s.speed()
	switch gap := float64(now - s.until); {
	case !known:
		s.until = now
	case gap > b.halfLife/1024: // by less, it is not worth the exponential
		fade := math.Exp2(-gap / b.halfLife)
		s.work, s.took, s.until = s.work*fade, s.took*fade, now
	}
	s.work, s.took = s.work+work, s.took+took
	is := key(s.speed())
	switch {
	case !known:
		b.speeds.add(is, 1)
	case is != key(was):
		b.speeds.add(key(was), -1)
		b.speeds.add(is, 1)
	}
}

// Speed returns the speed of a node, where 1 is average. Known is false without an
// observation of it.
func (b *Book) Speed(node locality.Node) (speed float64, known bool) {
	if b == nil {
		return 0, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if uint(node) >= uint(len(b.nodes)) || b.nodes[node].took == 0 {
		return 0, false
	}
	return b.nodes[node].speed(), true
}

// Slow reports whether a node's speed is below the given percentile of all observed
// nodes, by nearest rank. Speeds within 1/64 of each other count as equal. Cost:
// O(log buckets), no allocation.
//
// A node without an observation has made no progress, which in the paper is the
// slowest speed. It is slow while such nodes are a smaller share of all than the
// percentile. If there are more, it is not slow: then the cell is idle.
func (b *Book) Slow(node locality.Node, percentile float64) bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if uint(node) >= uint(len(b.nodes)) || !share(percentile) {
		return false
	}
	if b.nodes[node].took == 0 {
		unseen := len(b.nodes) - b.speeds.len()
		return float64(unseen) < percentile*float64(len(b.nodes))
	}
	return key(b.nodes[node].speed()) < b.speeds.percentile(percentile)
}

// Copies returns the number of running copies of all jobs of the book.
func (b *Book) Copies() int {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.copies
}

// full reports whether that share of the slots runs copies: one at least, so that
// small cells have any.
func (b *Book) full(limit float64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.copies >= b.most(limit)
}

// take counts one copy more, unless the book is full.
func (b *Book) take(limit float64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if most := b.most(limit); b.copies >= most {
		return refuse(ErrCap, "copy: %d copies run on %d slots, want fewer than %d", b.copies, b.slots, most)
	}
	b.copies++
	return nil
}

func (b *Book) most(limit float64) int {
	return max(1, floor(limit*float64(b.slots)))
}

// giveBack counts one copy less.
func (b *Book) giveBack() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.copies--
}

// progressed adds a job's observation of a node, in the job's own pace. The node
// was checked when the attempt started; a node that was removed since is left out.
func (b *Book) progressed(now time.Duration, node locality.Node, work, took float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if uint(node) < uint(len(b.nodes)) {
		b.observe(now, node, work, took)
	}
}

// check returns an error for a node that the book does not know.
func (b *Book) check(op string, node locality.Node) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if uint(node) >= uint(len(b.nodes)) {
		return badNode(op, node, len(b.nodes))
	}
	return nil
}

// speed returns work over time. Both are floats, as the order of speeds within 1/64
// of each other does not matter.
func (s *seen) speed() float64 {
	if s.took == 0 {
		return 0
	}
	return s.work / s.took
}

// sinceEpoch returns an instant as one number, within 290 years of 1970.
func sinceEpoch(now time.Time) time.Duration { return now.Sub(time.Unix(0, 0)) }
