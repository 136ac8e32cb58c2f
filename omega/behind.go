package omega

import "math/bits"

// A refresh finds out which machines have changed and keeps their versions, but copies
// none: most searches look at few machines. A machine that was not copied yet is behind.
// It is copied when its copy is read, from the version that the refresh has kept. So
// the contents of the snapshot do not depend on the moment of the copy.
//
// Invariant, between refreshes, for a machine that is behind: the snapshot's version is
// that of seen, which is not nil. val, free, ids and the bound of the machine's block are
// of an earlier version. Nothing is taken on the machine, and it is not absorbed. All
// readers of these fields catch up first, or ask known.

// known returns the snapshot's version of a machine.
func (s *Snapshot) known(node int) *version {
	if s.behind[node/64]>>(node%64)&1 == 1 {
		return &s.seen[node].V
	}
	return s.val[node]
}

// lag has a machine be behind, at the version in raw.
func (s *Snapshot) lag(node int, raw *object) {
	word, bit := &s.behind[node/64], uint64(1)<<(node%64)
	s.seen[node] = raw
	if *word&bit == 0 {
		*word |= bit
		s.late++
	}
}

// catchUp copies a machine if it is behind.
func (s *Snapshot) catchUp(node int) {
	if word, bit := &s.behind[node/64], uint64(1)<<(node%64); *word&bit != 0 {
		*word &^= bit
		s.late--
		s.copy(node, &s.seen[node].V)
	}
}

// catchUpAll copies all machines that are behind.
func (s *Snapshot) catchUpAll() {
	for node := 0; s.late > 0; {
		node = s.catchUpFrom(node, fetched) + 1
	}
}

// catchUpFrom copies the first machines that are behind from node on, up to most of them
// and to fetched, and returns the last.
func (s *Snapshot) catchUpFrom(node, most int) (last int) {
	var nodes [fetched]uint32
	var raws [fetched]*object
	n := 0
	for word, from := node/64, node%64; word < len(s.behind) && n < most; word, from = word+1, 0 {
		for w := s.behind[word] >> from << from; w != 0 && n < most; w &= w - 1 {
			last = word*64 + bits.TrailingZeros64(w)
			nodes[n%fetched], raws[n%fetched] = uint32(last), s.seen[last]
			n++
		}
	}
	s.fetch(nodes[:n], &raws)
	for i, node := range nodes[:n] {
		s.behind[node/64] &^= 1 << (node % 64)
		s.copy(int(node), &raws[i%fetched].V)
	}
	s.late -= n
	return last
}

// fetch loads the memory that the copying of machines reads or writes. It serves the
// caches alone.
func (s *Snapshot) fetch(nodes []uint32, raws *[fetched]*object) {
	if !fetching {
		return
	}
	sum := int64(0)
	var vals [fetched]*version
	for i, node := range nodes {
		block := &s.index.blocks[node/indexBlock]
		sum += s.free[node][0] + block.most[0] + int64(s.ids[node].id) + raws[i%fetched].V.room[0] + int64(raws[i%fetched].V.seq)
		vals[i%fetched] = s.val[node]
	}
	if vals[0] == nil {
		sum++
	}
	s.loaded = sum
}

// aheadOf is how many machines are searched at a time for one that is behind.
const aheadOf = 32 * indexBlock

// next is index.next for a snapshot of which some machines may be behind.
func (s *Snapshot) next(need *sparse, node, end int) int {
	for most := 1; s.late > 0 && node < end; {
		stop := min(end, node&^(indexBlock-1)+aheadOf)
		if at := s.firstBehind(node, stop); at < stop {
			if stop = at &^ (indexBlock - 1); stop <= node {
				// The bound of this block is not right yet. A search that goes on for
				// long catches up with more at a time.
				s.catchUpFrom(at, most)
				most = min(2*most, fetched)
				continue
			}
		}
		if node = s.index.next(s.free, need, node, stop); node < stop {
			return node
		}
	}
	return s.index.next(s.free, need, node, end)
}

// firstBehind returns the first machine from node on, and before end, that is behind, or
// end if there is none.
func (s *Snapshot) firstBehind(node, end int) int {
	for ; node < end; node = node&^63 + 64 {
		if w := s.behind[node/64] >> (node % 64); w != 0 {
			return min(node+bits.TrailingZeros64(w), end)
		}
	}
	return end
}
