package locality

import "sync/atomic"

// MaxNodes is how many nodes a topology has, or attributes describe: their
// numbers are below it.
const MaxNodes = 1 << 20

const (
	pageWords = 64
	pageNodes = pageWords * 64
	maxPages  = MaxNodes / pageNodes
)

// page holds the bits of 4,096 nodes.
type page [pageWords]atomic.Uint64

// vector is a set of nodes, 64 to a word. One goroutine at a time writes it,
// any number read it meanwhile.
type vector struct {
	// pages are made when their first bit is set and stay for good, so that a
	// reader never holds one that is written no more. A nil page is empty.
	pages [maxPages]atomic.Pointer[page]
}

// word returns word i of page p.
func (v *vector) word(p, i uint32) uint64 {
	if pg := v.pages[p].Load(); pg != nil {
		return pg[i].Load()
	}
	return 0
}

// and takes from dst what is not in the words from i on of page p.
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

// frame is what readers need to see all vectors of 64 nodes as they were at one
// moment. What changes on a node changes in these steps:
//
//  1. its bit in known is cleared,
//  2. seq of its word is raised,
//  3. its bits in the vectors change,
//  4. its bit in known is set, unless the node is gone.
//
// A reader loads seq, known, the vectors, and seq again. If seq is the same,
// and the node's bit in known is set, then step 4 of the last change was done,
// and no step 3 of a later one was seen: all bits are of one moment. The bits
// of the other nodes in the word did not change. A reader tries again only if
// another change has begun, and one stalled between the steps hides no node but
// its own.
type frame struct {
	seq   page
	known page
}
