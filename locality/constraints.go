package locality

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"sync/atomic"
)

// Constraints are what a task requires of a machine: all of a set of registered
// predicates. Without any, they are met by every known machine.
//
// All methods are safe for concurrent use, never wait for a writer and do not
// allocate but for what they return. They see each machine as it was at one
// moment; different machines may be seen at different ones. A machine is passed
// by while a change of it is in progress.
type Constraints struct {
	of      *Attributes
	members []*registered

	// conjunction is the AND of the members while it is cached, as of which the
	// word that a reader looks at is true if its seq did not change meanwhile:
	// one that is no longer cached is not written any more. So it is loaded
	// anew for each word, after seq.
	conjunction atomic.Pointer[vector]

	uses uint64 // since they were made, halved by each Cache; under of.mu
}

// Require returns the constraints that are met where all the given ones are.
// Order and repetition do not matter.
//
// Errors: [ErrConstraint]. Cost: a look-up for a set that was required before,
// without allocation if it has up to 16 members. Constraints may be kept and
// used for as long as one likes, but it is by calls of Require that the sets
// worth caching are found: see [Attributes.Cache].
func (a *Attributes) Require(constraints ...Constraint) (*Constraints, error) {
	var few [16]Constraint
	cs := append(few[:0], constraints...)
	slices.Sort(cs)
	cs = slices.Compact(cs)
	var room [4 * len(few)]byte
	key := room[:0]
	for _, c := range cs {
		key = append(key, byte(c>>24), byte(c>>16), byte(c>>8), byte(c))
	}

	a.mu.Lock()
	defer a.mu.Unlock()
	if set, ok := a.sets[string(key)]; ok {
		set.uses++
		return set, nil
	}
	set := &Constraints{of: a, uses: 1}
	for _, c := range cs {
		if int(c) >= len(a.predicates) {
			return nil, fmt.Errorf("locality: require constraint %d, want less than %d: %w", c, len(a.predicates), ErrConstraint)
		}
		set.members = append(set.members, a.predicates[c])
	}
	if a.sets == nil {
		a.sets = make(map[string]*Constraints)
	}
	a.sets[string(key)] = set
	return set, nil
}

// Has tells whether machine n meets the constraints. It is what omega.Query
// takes as Allow.
func (c *Constraints) Has(n Node) bool {
	return n < MaxNodes && c.word(uint32(n)/64)>>(n%64)&1 == 1
}

// First returns the first machine from start on that meets the constraints,
// once around, and false if none does. Schedulers that start at random places
// seldom pick the same machine. Cost: O(constraints) for each 64 machines that
// are passed by.
func (c *Constraints) First(start Node) (Node, bool) {
	from, words := uint32(start)/64, c.words()
	if from < words {
		if x := c.word(from) & (every << (start % 64)); x != 0 {
			return lowest(from, x), true
		}
		if n, ok := c.firstIn(from+1, words); ok {
			return n, true
		}
	}
	return c.firstIn(0, min(from+1, words))
}

// firstIn returns the first machine of the words from w to end.
func (c *Constraints) firstIn(w, end uint32) (Node, bool) {
	var block [8]uint64 // none crosses a page
	for w < end {
		part := block[:min(8-w%8, end-w)]
		c.fill(w, part)
		for i, x := range part {
			if x != 0 {
				return lowest(w+uint32(i), x), true
			}
		}
		w += uint32(len(part))
	}
	return 0, false
}

// From walks the machines that meet the constraints, from start on, once
// around. It is what omega.Query takes as Among.
//
// The body may change attributes; the walk looks at 64 machines at a time, and
// sees what changes ahead of that. Cost: as [Constraints.First].
func (c *Constraints) From(start Node) iter.Seq[Node] {
	return func(yield func(Node) bool) { walk(c.words(), start, c.word, yield) }
}

// Count returns how many machines meet the constraints.
func (c *Constraints) Count() (n int) {
	var block [pageWords]uint64
	for w, words := uint32(0), c.words(); w < words; w += pageWords {
		part := block[:min(words-w, pageWords)]
		c.fill(w, part)
		for _, x := range part {
			n += bits.OnesCount64(x)
		}
	}
	return n
}

// Words returns the machines that meet the constraints as a bit vector: bit
// n%64 of word n/64. It is what omega calls a Mask. It is written to dst if that
// has the capacity, and else to a new slice.
func (c *Constraints) Words(dst []uint64) []uint64 {
	words := c.words()
	if uint64(cap(dst)) < uint64(words) {
		dst = make([]uint64, words)
	}
	dst = dst[:words]
	for w := uint32(0); w < words; w += pageWords {
		c.fill(w, dst[w:min(w+pageWords, words)])
	}
	return dst
}

// words returns how many words there are.
func (c *Constraints) words() uint32 { return (c.of.end.Load() + 63) / 64 }

// word returns the machines of word w. Each round after the first is because a
// writer has begun another change there; see frame.
func (c *Constraints) word(w uint32) uint64 {
	p, i := w/pageWords, w%pageWords
	f := c.of.frames[p].Load()
	if f == nil {
		return 0
	}
	for {
		seq := f.seq[i].Load()
		x := f.known[i].Load()
		if v := c.conjunction.Load(); v != nil {
			x &= v.word(p, i)
		} else {
			for _, r := range c.members {
				if x == 0 {
					break
				}
				x &= r.sat.word(p, i)
			}
		}
		if f.seq[i].Load() == seq {
			return x
		}
	}
}

// fill is word for as many words as there are in dst, all of one page, for a
// fraction of the cost.
func (c *Constraints) fill(w uint32, dst []uint64) {
	p, i := w/pageWords, w%pageWords
	f := c.of.frames[p].Load()
	if f == nil {
		clear(dst)
		return
	}
	var seqs [pageWords]uint64
	seq, known := f.seq[i:][:len(dst)], f.known[i:][:len(dst)]
	for j := range dst {
		seqs[j%pageWords] = seq[j].Load()
		dst[j] = known[j].Load()
	}
	if v := c.conjunction.Load(); v != nil {
		v.and(p, i, dst)
	} else {
		for _, r := range c.members {
			r.sat.and(p, i, dst)
		}
	}
	for j := range dst {
		if seq[j].Load() != seqs[j%pageWords] {
			dst[j] = c.word(w + uint32(j))
		}
	}
}

// every is a word with all machines.
const every = ^uint64(0)

// lowest returns the lowest machine in the bits x of word w.
func lowest(w uint32, x uint64) Node { return Node(w*64) + Node(bits.TrailingZeros64(x)) }

// walk yields the machines in so many words, from start on and once around, and
// tells whether yield wanted all.
func walk(words uint32, start Node, word func(w uint32) uint64, yield func(Node) bool) bool {
	spill := func(w, end uint32, mask uint64) bool {
		for ; w < end; w, mask = w+1, every {
			for x := word(w) & mask; x != 0; x &= x - 1 {
				if !yield(lowest(w, x)) {
					return false
				}
			}
		}
		return true
	}
	from, late := uint32(start)/64, every<<(start%64)
	return spill(from, words, late) && spill(0, min(from, words), every) &&
		(from >= words || spill(from, from+1, ^late))
}
