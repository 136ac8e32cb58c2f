package late

import (
	"math"
	"sync"
	"time"

	"github.com/cellsched/cellsched/locality"
)

// Config sizes a [Book].
type Config struct {
	// Nodes is how many nodes there are: their numbers are below it.
	Nodes int

	// Slots is how many tasks run at a time, on all nodes together.
	Slots int

	// HalfLife is after how long what was seen of a node counts half as much:
	// ten minutes by default.
	HalfLife time.Duration
}

// Book is what the jobs of a cell know together: how fast each node is, and how
// many copies run.
//
// A node's speed is the progress that attempts have made on it, in units of
// what their job makes on average in the same time, over the time they took:
// 1 is an average node, and what one job learns of a node serves the others.
// The paper adds up progress instead, by which a node that joined an hour ago
// is slow. Jobs whose nodes are all slow look like jobs of long tasks; it takes
// jobs on other nodes to tell.
//
// The zero Book has no nodes and the default half-life: [Book.Resize] gives it some.
// All methods are safe for concurrent use and hold a mutex for no longer than
// they take. A Book keeps 24 bytes a node.
type Book struct {
	halfLife float64 // nanoseconds

	mu     sync.Mutex
	nodes  []seen
	speeds ranks // of the nodes that something was seen of
	slots  int
	copies int
}

// seen is what attempts did on a node: progress in units of the average
// attempt's time, and the time. Both fade alike, so that their ratio changes by
// what is seen only.
type seen struct {
	work, took float64
	until      time.Duration // since 1970, when they last faded
}

// NewBook returns a book in which nothing was seen yet. A number of nodes or
// slots below 1, and a half-life below 0, fail with [ErrSize].
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

// Resize says how many nodes and slots there are from now on. What was seen of
// nodes that are no more is forgotten; copies that run go on even if fewer may.
// Errors are those of [NewBook]. Cost: O(nodes).
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

// Observe adds what was seen of a node: in the time given, up to now, it did
// what takes an average node the time that work says.
//
// Jobs do this by themselves with every report; it is for what the caller
// measures in other ways. An unknown node fails with [ErrNode]; work that is
// negative, and time that is not positive, with [ErrSize]. What is seen out of
// order counts as seen now. Cost: O(1), plus O(log nodes) when the speed has
// changed by 1/64.
func (b *Book) Observe(now time.Time, node locality.Node, work, took time.Duration) error {
	if b == nil {
		return absent("book")
	}
	if work < 0 || took <= 0 {
		return refuse(ErrSize, "observe node %d: work of %v in %v, want 0 or more in more than 0", node, work, took)
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

// Speed returns how fast a node is, where 1 is average, and whether anything
// was seen of it at all.
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

// Slow reports whether a node's speed is below the given percentile of all
// nodes that something was seen of: nearest rank, speeds within 1/64 of each
// other counted as equal. A node that nothing was seen of has made no progress,
// which in the paper is the slowest there is: it is slow while such nodes are a
// smaller share of all than the percentile, and not if there are more, as then
// it is the cell that is idle. Cost: O(log buckets), no allocation.
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

// Copies returns how many copies run, of all jobs of the book.
func (b *Book) Copies() int {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.copies
}

// full reports whether as many copies run as that share of the slots may: one
// at least, so that small cells have any.
func (b *Book) full(limit float64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.copies >= b.most(limit)
}

// take counts one copy more unless the book is full.
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

// progressed adds what a job saw of a node, in its own pace. The node was
// checked when the attempt started; one that is no more is left out.
func (b *Book) progressed(now time.Duration, node locality.Node, work, took float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if uint(node) < uint(len(b.nodes)) {
		b.observe(now, node, work, took)
	}
}

// check refuses a node that the book does not know.
func (b *Book) check(op string, node locality.Node) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if uint(node) >= uint(len(b.nodes)) {
		return badNode(op, node, len(b.nodes))
	}
	return nil
}

// speed is work over time. Both are floats, as the order of speeds within 1/64
// of each other is of no account.
func (s *seen) speed() float64 {
	if s.took == 0 {
		return 0
	}
	return s.work / s.took
}

// sinceEpoch is an instant as one number. Instants 290 years and more from
// 1970 are taken as that.
func sinceEpoch(now time.Time) time.Duration { return now.Sub(time.Unix(0, 0)) }
