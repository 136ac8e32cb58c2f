//go:build explore

package explore_test

import "github.com/cellsched/cellsched/omega/internal/atomics"

// fault is a defect that is built into a memory.
type fault int

const (
	none fault = iota
	steal
	checkThenStore
	dirtyRead
)

// memory is a few words under the k-word compare-and-swap of package omega's gangs. It
// is reduced to that: fresh nodes, help for an undecided swap that is met, and reads
// that never see a swap before it is decided. A memory can have one of the faults that
// its authors are most likely to make.
type memory struct {
	words []atomics.Pointer[node]
	fault fault
}

// node is one value of a word, there on behalf of a swap. It stands for value
// if the swap succeeded, for prev if it failed or is not decided.
type node struct {
	value int
	op    *swap
	prev  *node
}

const (
	undecided uint32 = iota
	succeeded
	failed
)

type swap struct {
	status atomics.Uint32
	steps  []step // in rising order of words
}

type step struct {
	word int
	next *node // next.prev is what is expected
}

func newMemory(words int, f fault) *memory {
	m := &memory{words: make([]atomics.Pointer[node], words), fault: f}
	for i := range m.words {
		m.words[i].Store(&node{})
	}
	return m
}

// settled returns what n stands for, and whether that is final.
func (m *memory) settled(n *node) (*node, bool) {
	if n.op == nil {
		return n, true
	}
	switch n.op.status.Load() {
	case succeeded:
		return n, true
	case failed:
		return n.prev, true
	}
	if m.fault == dirtyRead {
		return n, false
	}
	return n.prev, false
}

// settle returns what is in a word and what it stands for, once that is final.
func (m *memory) settle(word int) (raw, n *node) {
	for {
		raw = m.words[word].Load()
		n, settled := m.settled(raw)
		if settled || m.fault == steal {
			return raw, n
		}
		m.run(raw.op)
	}
}

// read returns the value of a word.
func (m *memory) read(word int) int {
	n, _ := m.settled(m.words[word].Load())
	return n.value
}

// swap replaces the values of the words, which rise, by others, if all are as
// expected.
func (m *memory) swap(words []int, from, to int) bool {
	op := &swap{}
	for _, w := range words {
		_, n := m.settle(w)
		if n.value != from {
			return false
		}
		op.steps = append(op.steps, step{w, &node{value: to, op: op, prev: n}})
	}
	m.run(op)
	return op.status.Load() == succeeded
}

// run drives a swap to its decision, as any thread may.
func (m *memory) run(op *swap) {
	for _, s := range op.steps {
		if !m.install(op, s) {
			return
		}
	}
	op.status.CompareAndSwap(undecided, succeeded)
}

func (m *memory) install(op *swap, s step) bool {
	for {
		if m.words[s.word].Load() == s.next {
			return true
		}
		raw, n := m.settle(s.word)
		switch {
		case raw == s.next: // put there by another thread just now
			return true
		case n != s.next.prev:
			op.status.CompareAndSwap(undecided, failed)
			return false
		case op.status.Load() != undecided:
			return false
		case m.fault == checkThenStore:
			m.words[s.word].Store(s.next)
			return true
		case m.words[s.word].CompareAndSwap(raw, s.next):
			return true
		}
	}
}
