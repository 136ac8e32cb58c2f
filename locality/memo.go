package locality

import "sync/atomic"

// memo is a cached intersection of a set of constraints. For each line of nodes it
// has the common bits of their vectors and known, as of the seq that is its stamp.
// The bits are true while seq is still that; see frame. So a change leaves memos
// alone, however many there are. The first reader of the line after it brings the
// memo up to date.
//
// A zero memo is true as of seq 0, when no node of the line was known.
type memo struct {
	pages [maxPages]atomic.Pointer[memoPage] // nil for a page that is not cached
}

// memoPage is written, a line at a time, by the goroutine that swaps busy in for
// the stamp.
//
//  1. The writer read its bits while seq was higher than that stamp, so stamps
//     never go back.
//  2. Suppose that a reader finds the stamp equal to seq, and then loads bits that
//     are being written.
//  3. Then it finds seq to be higher afterwards, as the writer did before, and does
//     not use the bits.
type memoPage struct {
	stamps [pageLines]atomic.Uint64
	bits   page
}

const busy = ^uint64(0)

// look returns page p, if it is kept, and the stamp of the line that word i of
// it is in.
func (m *memo) look(p, i uint32) (pg *memoPage, stamp uint64) {
	if m == nil {
		return nil, busy
	}
	if pg = m.pages[p].Load(); pg == nil {
		return nil, busy
	}
	return pg, pg.stamps[i/lineWords].Load()
}

// keep writes the bits of the line that begins with word i, as of seq. It does
// nothing if another writer has begun since stamp was loaded. No goroutine waits
// for a stalled writer: until that goes on, the line is not cached.
func (pg *memoPage) keep(i uint32, stamp, seq uint64, words []uint64) {
	s := &pg.stamps[i/lineWords]
	if stamp == busy || !s.CompareAndSwap(stamp, busy) {
		return
	}
	for j, x := range words {
		pg.bits[i:][j].Store(x)
	}
	s.Store(seq)
}
