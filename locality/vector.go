package locality

import "sync/atomic"

const (
	pageWords = 64
	pageNodes = pageWords * 64
	maxPages  = MaxNodes / pageNodes
	lineWords = 8 // one cache line
	lineNodes = lineWords * 64
	pageLines = pageWords / lineWords
)

// page holds the bits of 4,096 nodes.
type page [pageWords]atomic.Uint64

// load writes to dst the words from i on.
func (pg *page) load(i uint32, dst []uint64) {
	words := pg[i:][:len(dst)]
	for j := range dst {
		dst[j] = words[j].Load()
	}
}

// vector is a set of nodes, 64 to a word. One goroutine at a time writes it, any
// number read it meanwhile.
type vector struct {
	// pages are made when their first bit is set and stay for good, so that a
	// reader always holds a page in use. A nil page is empty.
	pages [maxPages]atomic.Pointer[page]
}

// word returns word i of page p.
func (v *vector) word(p, i uint32) uint64 {
	if pg := v.pages[p].Load(); pg != nil {
		return pg[i].Load()
	}
	return 0
}

// and clears the bits of dst that are not in the words from i on of page p.
func (v *vector) and(p, i uint32, dst []uint64) {
	pg := v.pages[p].Load()
	if pg == nil {
		clear(dst)
		return
	}
	words := pg[i:][:len(dst)]
	for j := range dst {
		dst[j] &= words[j].Load()
	}
}

func (v *vector) has(n Node) bool {
	return v.word(uint32(n)/pageNodes, uint32(n)/64%pageWords)>>(n%64)&1 == 1
}

func (v *vector) set(n Node, on bool) {
	p, i, bit := uint32(n)/pageNodes, uint32(n)/64%pageWords, uint64(1)<<(n%64)
	pg := v.pages[p].Load()
	if pg == nil {
		if !on {
			return
		}
		pg = new(page)
		v.pages[p].Store(pg)
	}
	w := pg[i].Load() &^ bit
	if on {
		w |= bit
	}
	if w != pg[i].Load() { // a store costs as much as many loads
		pg[i].Store(w)
	}
}

// flip inverts the bit of n.
func (v *vector) flip(n Node) {
	v.set(n, !v.has(n))
}

// frame lets readers see all vectors of a line, 512 nodes, as they were at one
// moment. A change of a node takes these steps:
//
//  1. its bit in known is cleared,
//  2. seq of its line is raised,
//  3. its bits in the vectors change,
//  4. its bit in known is set, unless the node is gone,
//  5. seq is raised again.
//
// A reader loads seq, known, the vectors, and seq again. Suppose that seq is the
// same, and the node's bit in known is set. Then step 4 of the last change was
// done, and no step 3 of a later one was seen: all bits are of one moment. The bits
// of the other nodes did not change. So a reader of the node sees the change at
// steps 1 and 4. A reader tries again only if another change of the line has begun
// or ended. A change that is stalled between the steps hides no node but its own.
//
// Step 5 is for memos, which have the common bits of known and the vectors as of
// some seq. A memo that was made during a change lacks the node, and does not
// outlive the change.
type frame struct {
	seq   [pageLines]atomic.Uint64
	known page
}

// of returns the word of known that n is in, the seq of its line, and its bit.
func (f *frame) of(n Node) (known, seq *atomic.Uint64, bit uint64) {
	w := uint32(n) / 64 % pageWords
	return &f.known[w], &f.seq[w/lineWords], 1 << (n % 64)
}
