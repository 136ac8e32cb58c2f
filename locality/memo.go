package locality

import "sync/atomic"

// memo is what a set of constraints is known to come to: for each line of
// nodes what their vectors and known have in common, as of the seq that is its
// stamp. While seq is still that, the bits are true; see frame. A change thus
// leaves memos alone, however many there are, and the first reader that comes to
// the line after it brings it up to date.
//
// A zero memo is true as of seq 0, when no node of the line was known.
type memo struct {
	pages [maxPages]atomic.Pointer[memoPage] // nil where nothing is to be kept
}

// memoPage is written, a line at a time, by whoever puts busy in place of the
// stamp. What it writes it read while seq was higher than that stamp, so stamps
// never go back. A reader that finds the stamp to be seq, and after that loads
// bits that are being written, will find seq to be higher, as the writer did
// before.
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

// keep notes what the line that begins with word i was as of seq, unless somebody
// else has begun to since stamp was loaded. Nobody waits for a writer that is
// stalled: until it goes on, nothing is kept of the line.
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
