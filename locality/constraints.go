package locality

import (
	"iter"
	"math/bits"
	"slices"
	"sync/atomic"
)

// Constraints are a set of registered predicates that a machine has to satisfy, all
// of them. Without any, every known machine meets them. [Attributes.Require] makes
// them; no machine meets the zero Constraints.
//
// All methods are safe for concurrent use, never wait for a writer and do not
// allocate except for their results. They see each machine as it was at one moment;
// different machines may be seen at different ones. A machine is skipped while a
// change of it is in progress.
type Constraints struct {
	of      *Attributes
	members []*registered

	// memo is their intersection, while it is cached.
	memo atomic.Pointer[memo]

	uses uint64 // since they were made, halved by each Cache; under of.mu
}

// Require returns the constraints that a machine meets if it meets all the given
// ones. Order and repetition do not matter.
//
// Errors: [ErrConstraint]. Cost: a look-up for a set that was required before,
// without allocation if it has up to 16 members. Constraints may be kept and used
// without limit. Only calls of Require count for the choice of sets to cache: see
// [Attributes.Cache].
func (a *Attributes) Require(constraints ...Constraint) (*Constraints, error) {
	if a == nil {
		return nil, absent("attributes")
	}
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
		if uint(c) >= uint(len(a.predicates)) {
			return nil, refuse(ErrConstraint, "require constraint %d, want less than %d", c, len(a.predicates))
		}
		set.members = append(set.members, a.predicates[c])
	}
	if a.sets == nil {
		a.sets = make(map[string]*Constraints)
	}
	a.sets[string(key)] = set
	return set, nil
}

// Has reports whether machine n meets the constraints. It suits omega.Query as
// Allow.
func (c *Constraints) Has(n Node) bool {
	if c == nil {
		return false
	}
	if n >= MaxNodes || c.of == nil {
		return false
	}
	var x [1]uint64
	c.read(uint32(n)/64, x[:])
	return x[0]>>(n%64)&1 == 1
}

// First returns the first machine from start on that meets the constraints, once
// around, and false if none does. Schedulers that start at random places seldom
// pick the same machine. Cost: O(constraints) for each 64 machines that are
// skipped.
func (c *Constraints) First(start Node) (Node, bool) {
	if w := uint32(start) / 64; w < c.words() {
		var x [1]uint64 // one word is enough if many machines meet them
		c.read(w, x[:])
		if x[0] &= ^uint64(0) << (start % 64); x[0] != 0 {
			return node(w, x[0]), true
		}
	}
	var x line
	r := newRound(c.lines(), start)
	for l, ok := r.next(); ok; l, ok = r.next() {
		c.read(l*lineWords, x[:])
		r.cut(&x)
		for k := range x {
			if x[k] != 0 {
				return node(l*lineWords+uint32(k), x[k]), true
			}
		}
	}
	return 0, false
}

// From walks the machines that meet the constraints, from start on, once around. It
// suits omega.Query as Among.
//
// The body may change attributes. The walk reads 512 machines at a time, and sees
// changes ahead of those. Cost: as [Constraints.First].
func (c *Constraints) From(start Node) iter.Seq[Node] {
	return func(yield func(Node) bool) {
		var x line
		r := newRound(c.lines(), start)
		for l, ok := r.next(); ok; l, ok = r.next() {
			c.read(l*lineWords, x[:])
			r.cut(&x)
			if !x.each(l, yield) {
				return
			}
		}
	}
}

// Count returns the number of machines that meet the constraints.
func (c *Constraints) Count() (n int) {
	var block [pageWords]uint64
	for w, words := uint32(0), c.words(); w < words; w += pageWords {
		part := block[:min(words-w, pageWords)]
		c.readPage(w, part)
		for _, x := range part {
			n += bits.OnesCount64(x)
		}
	}
	return n
}

// Words returns the machines that meet the constraints as a bit vector: bit n%64 of
// word n/64. Package omega calls that a Mask. It is written to dst if that has the
// capacity, and to a new slice otherwise.
func (c *Constraints) Words(dst []uint64) []uint64 {
	words := c.words()
	if uint64(cap(dst)) < uint64(words) {
		dst = make([]uint64, words)
	}
	dst = dst[:words]
	for w := uint32(0); w < words; w += pageWords {
		c.readPage(w, dst[w:min(w+pageWords, words)])
	}
	return dst
}

// words and lines return the number of words and lines.
func (c *Constraints) words() uint32 {
	if c == nil {
		return 0
	}
	if c.of == nil {
		return 0
	}
	return (c.of.end.Load() + 63) / 64
}

func (c *Constraints) lines() uint32 { return (c.words() + lineWords - 1) / lineWords }

// read writes to dst the machines of the words from w on, all of one line. It
// repeats only after a writer has begun or ended another change there; see frame.
func (c *Constraints) read(w uint32, dst []uint64) {
	p, i := w/pageWords, w%pageWords
	f := c.of.frames[p].Load()
	if f == nil {
		clear(dst)
		return
	}
	for {
		seq := f.seq[i/lineWords].Load()
		kept, stamp := c.memo.Load().look(p, i)
		if kept != nil && stamp == seq {
			kept.bits.load(i, dst)
		} else {
			f.known.load(i, dst)
			for _, r := range c.members {
				r.sat.and(p, i, dst)
			}
		}
		if f.seq[i/lineWords].Load() == seq {
			if kept != nil && stamp != seq && len(dst) == lineWords {
				kept.keep(i, stamp, seq, dst)
			}
			return
		}
	}
}

// readPage is read for words from the beginning of a page on, at a fraction of the
// cost if nothing is cached.
func (c *Constraints) readPage(w uint32, dst []uint64) {
	f := c.of.frames[w/pageWords].Load()
	if f == nil {
		clear(dst)
		return
	}
	var seqs [pageLines]uint64
	fresh := c.memo.Load() == nil
	if fresh {
		for l := range seqs {
			seqs[l] = f.seq[l].Load()
		}
		f.known.load(0, dst)
		for _, r := range c.members {
			r.sat.and(w/pageWords, 0, dst)
		}
	}
	for l, seq := range seqs {
		from := l * lineWords
		if from >= len(dst) {
			return
		}
		if !fresh || f.seq[l].Load() != seq {
			var x line // in full, so that it is kept
			c.read(w+uint32(from), x[:])
			copy(dst[from:], x[:])
		}
	}
}
