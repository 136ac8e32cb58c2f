package omega

import (
	"math"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// boxes is a k-d tree over the free room of machines, a tree for each capacity. The
// leaves list machines. Each box bounds the free room of the machines below it, so the
// score of one corner bounds their scores. It is the lower corner for a score that falls
// with free room, and the upper corner for any other.
//
// Bounds are widened at once and narrowed late, as those of the index. A search that
// finds nothing in a leaf narrows the bounds above it.
//
// Invariant: each machine with room that is not marked is in one leaf of the tree of its
// capacity. It is within the bounds of all boxes above it.
type boxes struct {
	all     []box
	roots   []root
	root    map[resources.Vector]int32 // by capacity, its place in roots
	leaf    []int32                    // by node: the leaf that lists it, or none
	changed []int32                    // nodes to be listed anew
	marked  Mask                       // the same
	search  bestSearch                 // the last
	moves   int                        // since the trees were made
}

type root struct {
	capacity resources.Vector
	box      int32
}

// box is a leaf, or has two children. Children are listed after their box.
type box struct {
	low, high resources.Vector // low is above high where there are no machines
	least     int32            // no machine has a lower number
	up        int32            // the box that it is in, or none
	children  [2]int32         // none in a leaf
	kind      uint8            // by which the children part; MaxKinds for the number
	at        int64            // the first child has less of the kind
	machines  []int32          // of a leaf
}

const (
	none    = -1
	leafMax = 32
	// fewOf is the least number of machines for each one that is searched for by the
	// tree. It also bounds the number of capacities: with more trees a scan is as good.
	fewOf = 64
	// boxedFrom is the least number of machines for which boxes are made.
	boxedFrom = 512
)

var infinite = resources.Uniform(math.MaxInt64)

// boxed brings the boxes up to date, and makes them first if need be. It returns false for a
// cell that they do not suit.
func (x *index) boxed(s *Snapshot) bool {
	n := len(s.free)
	if n < boxedFrom || n < 2*x.unlike {
		return false
	}
	if b := x.boxes; b == nil || len(b.changed) > n/8 || b.moves > 2*n {
		x.boxes = newBoxes(s)
	} else {
		b.update(s)
	}
	if len(x.boxes.roots) > n/fewOf {
		x.boxes, x.unlike = nil, n // until there are twice as many
		return false
	}
	return true
}

// touch notes that the free room or the capacity of a machine has changed.
func (b *boxes) touch(node int) {
	for node/64 >= len(b.marked) {
		b.marked = append(b.marked, 0)
	}
	if word, bit := &b.marked[node/64], uint64(1)<<(node%64); *word&bit == 0 {
		*word |= bit
		b.changed = append(b.changed, int32(node))
	}
}

// newBoxes makes the trees for all machines.
func newBoxes(s *Snapshot) *boxes {
	b := &boxes{root: make(map[resources.Vector]int32)}
	b.grow(len(s.free))
	var groups [][]int32
	for node := range s.free {
		if s.free[node] == closed {
			continue
		}
		capacity := &s.val[node].spec.Capacity
		at, ok := b.root[*capacity]
		if !ok {
			at = b.plant(capacity)
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], int32(node))
	}
	for i, machines := range groups {
		b.fill(s, b.roots[i].box, machines, &b.roots[i].capacity)
	}
	return b
}

func (b *boxes) grow(machines int) {
	for len(b.leaf) < machines {
		b.leaf = append(b.leaf, none)
	}
}

// plant begins a tree, and returns its place in roots.
func (b *boxes) plant(capacity *resources.Vector) int32 {
	at := int32(len(b.roots))
	b.root[*capacity] = at
	b.roots = append(b.roots, root{*capacity, b.add(none)})
	return at
}

// add makes an empty leaf.
func (b *boxes) add(up int32) int32 {
	b.all = append(b.all, box{low: infinite, high: closed, least: math.MaxInt32, up: up, children: [2]int32{none, none}})
	return int32(len(b.all) - 1)
}

// fill makes a leaf the box of some machines, which it keeps, and parts it if there are
// many.
func (b *boxes) fill(s *Snapshot, id int32, machines []int32, capacity *resources.Vector) {
	at := &b.all[id]
	at.machines = nil
	for _, node := range machines {
		at.include(node, &s.free[node])
	}
	if len(machines) <= leafMax {
		at.machines = slices.Clip(machines)
		for _, node := range machines {
			b.leaf[node] = id
		}
		return
	}
	// The box is split by the kind in which the machines differ most. If they differ in
	// none, it is split by number. Both children get some machines.
	at.kind = resources.MaxKinds
	widest := 0.0
	for k, c := range capacity {
		if w := float64(at.high[k]-at.low[k]) / float64(max(c, 1)); w > widest {
			at.kind, widest = uint8(k), w
		}
	}
	const few = 33
	var sample [few]int64
	for i := range sample {
		sample[i] = at.key(machines[i*(len(machines)-1)/(few-1)], s.free)
	}
	slices.Sort(sample[:])
	at.at = sample[few/2]
	if at.kind < resources.MaxKinds && at.at == at.low[at.kind] || at.kind == resources.MaxKinds && at.at == int64(at.least) {
		at.at++
	}
	left := 0
	for i, node := range machines {
		if at.key(node, s.free) < at.at {
			machines[i], machines[left] = machines[left], node
			left++
		}
	}
	first, second := b.add(id), b.add(id)
	b.all[id].children = [2]int32{first, second}
	b.fill(s, first, machines[:left:left], capacity)
	b.fill(s, second, machines[left:], capacity)
}

// key returns the amount, or the number, by which a machine goes to a child.
func (b *box) key(node int32, free []resources.Vector) int64 {
	if b.kind == resources.MaxKinds {
		return int64(node)
	}
	return free[node][b.kind]
}

// include widens the bounds for one more machine.
func (b *box) include(node int32, free *resources.Vector) {
	for k, q := range free {
		b.low[k], b.high[k] = min(b.low[k], q), max(b.high[k], q)
	}
	b.least = min(b.least, node)
}

// update lists the machines that have changed anew.
func (b *boxes) update(s *Snapshot) {
	b.grow(len(s.free))
	for _, node := range b.changed {
		b.marked[node/64] &^= 1 << (node % 64)
		if s.free[node] == closed {
			b.remove(node)
			continue
		}
		capacity := &s.val[node].spec.Capacity
		at, ok := b.root[*capacity]
		if !ok {
			at = b.plant(capacity)
		}
		b.insert(s, b.roots[at].box, node)
	}
	b.moves += len(b.changed)
	b.changed = b.changed[:0]
}

func (b *boxes) remove(node int32) {
	if b.leaf[node] == none {
		return
	}
	at := &b.all[b.leaf[node]]
	i, last := slices.Index(at.machines, node), len(at.machines)-1
	at.machines[i] = at.machines[last]
	at.machines = at.machines[:last]
	b.leaf[node] = none
}

// insert lists a machine in the leaf where it belongs, and nowhere else.
func (b *boxes) insert(s *Snapshot, id, node int32) {
	at := &b.all[id]
	for at.include(node, &s.free[node]); at.children[0] != none; at.include(node, &s.free[node]) {
		id = at.children[0]
		if at.key(node, s.free) >= at.at {
			id = at.children[1]
		}
		at = &b.all[id]
	}
	if b.leaf[node] == id {
		return
	}
	b.remove(node)
	at.machines, b.leaf[node] = append(at.machines, node), id
	if len(at.machines) > 2*leafMax {
		machines := at.machines
		at.low, at.high, at.least = infinite, closed, math.MaxInt32
		b.fill(s, id, machines, &s.val[node].spec.Capacity)
	}
}

// narrow makes the bounds of a leaf exact, and those of the boxes above it as close as
// their children's.
func (b *boxes) narrow(id int32, free []resources.Vector) {
	at := &b.all[id]
	at.low, at.high, at.least = infinite, closed, math.MaxInt32
	for _, node := range at.machines {
		at.include(node, &free[node])
	}
	for up := at.up; up != none; up = at.up {
		at = &b.all[up]
		x, y := &b.all[at.children[0]], &b.all[at.children[1]]
		low, high, least := x.low.Min(y.low), x.high.Max(y.high), min(x.least, y.least)
		if low == at.low && high == at.high && least == at.least {
			return
		}
		at.low, at.high, at.least = low, high, least
	}
}

// bestSearch is a search for the machine with the best score. It is kept in the boxes, and
// holds copies, so that a search allocates nothing.
type bestSearch struct {
	s        *Snapshot
	q        Query
	need     sparse
	mask     *Mask
	by       byScore
	capacity *resources.Vector
	corner   resources.Vector // of a box
	best     int
	high     float64
}

// bestInBoxes returns the machine with the highest score, the lowest number among equals,
// or -1.
func (s *Snapshot) bestInBoxes(q *Query, need *sparse, mask *Mask, p byScore) int {
	b := s.index.boxes
	f := &b.search
	*f = bestSearch{s: s, q: *q, need: *need, mask: mask, by: p, best: -1}
	defer func() { f.q.Allow = nil }()
	// The tree with the highest bound comes first: its best machine may rule out boxes
	// of the others.
	first, most := none, 0.0
	for i := range b.roots {
		f.capacity = &b.roots[i].capacity
		if bound, ok := f.bound(&b.all[b.roots[i].box]); ok && (first == none || bound > most) {
			first, most = i, bound
		}
	}
	if first == none {
		return -1
	}
	f.capacity = &b.roots[first].capacity
	f.visit(b, b.roots[first].box)
	for i := range b.roots {
		if i != first {
			f.capacity = &b.roots[i].capacity
			at := &b.all[b.roots[i].box]
			if bound, ok := f.bound(at); ok && f.promises(at, bound) {
				f.visit(b, b.roots[i].box)
			}
		}
	}
	return f.best
}

// bound returns the highest score that a machine in a box may have, and false if the need
// fits on none.
func (f *bestSearch) bound(b *box) (float64, bool) {
	if !f.need.within(&b.high) || b.least == math.MaxInt32 {
		return 0, false
	}
	if f.corner = b.high; f.by.trend == falling {
		f.corner = b.low.Max(f.s.need)
	}
	return f.by.score(&f.s.need, &f.corner, f.capacity), true
}

// promises reports whether a box may have a better machine.
func (f *bestSearch) promises(b *box, bound float64) bool {
	return f.best < 0 || bound > f.high || bound == f.high && int(b.least) < f.best
}

func (f *bestSearch) visit(b *boxes, id int32) {
	at := &b.all[id]
	if at.children[0] != none {
		x, y := at.children[0], at.children[1]
		first, ok1 := f.bound(&b.all[x])
		second, ok2 := f.bound(&b.all[y])
		// The child with the higher bound comes first, for the same reason as in
		// bestInBoxes; among equals the one with the lower number.
		if ok2 && (!ok1 || second > first || second == first && b.all[y].least < b.all[x].least) {
			x, y, first, second, ok1, ok2 = y, x, second, first, ok2, ok1
		}
		if ok1 && f.promises(&b.all[x], first) {
			f.visit(b, x)
		}
		if ok2 && f.promises(&b.all[y], second) {
			f.visit(b, y)
		}
		return
	}
	before := f.best
	for _, n := range at.machines {
		node := int(n)
		if !f.need.fits(&f.s.free[node]) {
			continue
		}
		score := f.s.score(f.by.score, node)
		if (f.best < 0 || score > f.high || score == f.high && node < f.best) && f.s.permits(&f.q, f.mask, node) {
			f.best, f.high = node, score
		}
	}
	if f.best == before {
		// No machine of the leaf is better: its bounds may be too wide.
		b.narrow(id, f.s.free)
	}
}
