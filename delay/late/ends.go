package late

import "math"

// ending is a task and its expected end.
type ending struct {
	end  float64
	slot uint32
}

// later is the order of choice: the later end, then the lower slot.
func (e ending) later(f ending) bool {
	return e.end > f.end || e.end == f.end && e.slot < f.slot
}

// arity is the number of children of a place in a heap. With four, most places have
// none, and those of one place share a cache line.
const arity = 4

// ends finds the task that ends last among those in the buckets below a given
// one. Each bucket is a heap, a tree over them holds the latest end below each
// of its nodes. The zero ends is empty. Cost of a change: O(log tasks), no
// allocation once the heaps are there.
type ends struct {
	span
	latest []float64 // by node of the tree
	heaps  [][]ending
	pos    []int32 // by slot: its place in its heap
	n      int
}

// put adds a slot that is in no bucket.
func (e *ends) put(key int32, x ending) {
	if !e.has(key) {
		e.grow(key)
	}
	for int(x.slot) >= len(e.pos) {
		e.pos = append(e.pos, 0)
	}
	l := e.leaf(key)
	e.heaps[l] = append(e.heaps[l], x)
	e.up(e.heaps[l], len(e.heaps[l])-1, x)
	e.n++
	e.lift(l)
}

// drop removes a slot that is in that bucket.
func (e *ends) drop(key int32, slot uint32) {
	l := e.leaf(key)
	h := e.heaps[l]
	last := len(h) - 1
	x, at := h[last], int(e.pos[slot])
	e.heaps[l] = h[:last]
	if at != last {
		e.settle(h[:last], at, x)
	}
	e.n--
	e.lift(l)
}

// move gives a slot another bucket, another end, or both.
func (e *ends) move(from, to int32, x ending) {
	if from != to {
		e.drop(from, x.slot)
		e.put(to, x)
		return
	}
	l := e.leaf(from)
	e.settle(e.heaps[l], int(e.pos[x.slot]), x)
	e.lift(l)
}

// last returns the task with the latest end in the buckets below limit, among those
// for which may returns true. Cost: O(log tasks) for each task that may refuses.
func (e *ends) last(limit int32, may func(slot uint32) bool) (best ending, found bool) {
	s := search{ends: e, may: may}
	if e.n > 0 {
		s.tree(1, 0, e.leaves, limit)
	}
	return s.best, s.found
}

// search is one walk, the best side first. It skips subtrees that cannot be better
// than its result so far.
type search struct {
	*ends
	may   func(slot uint32) bool
	best  ending
	found bool
}

func (s *search) tree(node, from, leaves, limit int32) {
	if s.key(from) >= limit || s.latest[node] == none || s.found && s.latest[node] < s.best.end {
		return
	}
	if leaves == 1 {
		s.heap(s.heaps[from], 0)
		return
	}
	leaves /= 2
	sides := [2]int32{0, 1}
	if s.latest[2*node] < s.latest[2*node+1] {
		sides = [2]int32{1, 0}
	}
	for _, side := range sides {
		s.tree(2*node+side, from+side*leaves, leaves, limit)
	}
}

func (s *search) heap(h []ending, i int) {
	if i >= len(h) || s.found && !h[i].later(s.best) {
		return
	}
	if s.may(h[i].slot) {
		s.best, s.found = h[i], true
		return
	}
	for c := arity*i + 1; c <= arity*i+arity; c++ {
		s.heap(h, c)
	}
}

// none is the latest end of no task.
const none = -math.MaxFloat64

// lift carries the latest end of a leaf up the tree, as far as it changes a node.
func (e *ends) lift(leaf int32) {
	end := none
	if h := e.heaps[leaf]; len(h) > 0 {
		end = h[0].end
	}
	for i := e.leaves + leaf; ; i /= 2 {
		if e.latest[i] == end {
			return
		}
		e.latest[i] = end
		if i == 1 {
			return
		}
		end = max(end, e.latest[i^1])
	}
}

// settle puts x at i, or at its place in the order.
func (e *ends) settle(h []ending, i int, x ending) {
	for {
		first := arity*i + 1
		if first >= len(h) {
			break
		}
		latest := first
		for c := first + 1; c < min(first+arity, len(h)); c++ {
			if h[c].later(h[latest]) {
				latest = c
			}
		}
		if !h[latest].later(x) {
			break
		}
		e.set(h, i, h[latest])
		i = latest
	}
	e.up(h, i, x)
}

func (e *ends) up(h []ending, i int, x ending) {
	for i > 0 && x.later(h[(i-1)/arity]) {
		e.set(h, i, h[(i-1)/arity])
		i = (i - 1) / arity
	}
	e.set(h, i, x)
}

func (e *ends) set(h []ending, i int, x ending) {
	h[i] = x
	e.pos[x.slot] = int32(i)
}

func (e *ends) grow(key int32) {
	old := *e
	e.span = old.widened(key)
	e.heaps = make([][]ending, e.leaves)
	e.latest = make([]float64, 2*e.leaves)
	for i := range e.latest {
		e.latest[i] = none
	}
	for l := range old.leaves {
		if len(old.heaps[l]) > 0 {
			to := e.leaf(old.key(l))
			e.heaps[to] = old.heaps[l]
			e.lift(to)
		}
	}
}
