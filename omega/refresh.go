package omega

import (
	"slices"

	"github.com/cellsched/cellsched/omega/internal/reclaim"
	"github.com/cellsched/cellsched/resources"
)

// update is Refresh; visit is called for each machine that has changed.
func (s *Snapshot) update(visit func(node int)) (copied int) {
	s.mask = s.owner.mask.Load()
	n := int(s.cell.nodes.Load())
	if len(s.seen) == 0 && n > 0 {
		s.index.begin(s.owner.num, n) // or all of them would pick the same machines
	}
	s.giveBack()
	s.grow(n)
	// First what has changed, then what it has become, then the copies: versions
	// are seldom in a cache, and so many of them are on the way at the same time.
	s.moved = s.moved[:0]
	node := 0
	for words := range s.cell.words.all(min(n, int(unstamped))) {
		s.compare(words, node)
		node += len(words)
	}
	b := 0
	for stamps := range s.cell.stamps.all(len(s.stamps)) {
		seen := s.stamps[b : b+len(stamps)]
		for i := range stamps {
			if stamp := stamps[i].Load(); stamp != seen[i] {
				from := int(unstamped) + (b+i)*stampBlock
				s.stale = append(s.stale, from)
				if seen[i] = stamp; !atRest(stamp) || from+stampBlock > n {
					seen[i] = unseen
				}
			}
		}
		b += len(stamps)
	}
	for group := range slices.Chunk(s.stale, fetched) {
		s.compareBlocks(group, n)
	}
	s.stale = s.stale[:0]
	for group := range slices.Chunk(s.moved, fetched) {
		s.fetch(group)
		copied += s.copy(group, visit)
	}
	return copied
}

// fetched is how many machines are fetched at a time: their cache lines fit in the
// smallest cache together.
const fetched = 32

// fetch finds out what machines have become, and loads all that copying them reads or
// writes: a loop of nothing but loads has many of them on the way at the same time,
// where copying a machine would wait for each. To keep a version is an exchange, which
// waits for all loads before it: so it has a loop of its own.
func (s *Snapshot) fetch(group []moved) {
	sum := int64(0)
	var known [fetched]*version
	for i := range group {
		m := &group[i]
		block := &s.index.blocks[m.node/indexBlock]
		sum += s.free[m.node][0] + block.most[0] + int64(s.ids[m.node].id)
		known[i%fetched] = s.val[m.node]
		m.raw = m.seen.For(s.maker)
	}
	for i := range group {
		if m := &group[i]; m.raw == nil {
			m.raw = s.cell.words.at(uint32(m.node)).KeepFor(s.maker)
		}
	}
	for i := range group {
		m := &group[i]
		sum += m.raw.V.free[resources.MaxKinds-1]
		m.val, m.settled = m.raw.V.value()
	}
	if known[0] == nil {
		sum++
	}
	s.loaded = sum
}

// copy copies machines that have moved.
func (s *Snapshot) copy(group []moved, visit func(node int)) (copied int) {
	for i := range group {
		m := &group[i]
		old := s.val[m.node]
		s.put(m.node, m.raw, m.val, m.settled)
		bit := uint64(1) << (m.node % 64)
		if visit != nil && (old == nil || old.seq != m.val.seq || s.absorbed[m.node/64]&bit != 0) { // else it was fenced
			visit(m.node)
		}
		if s.absorbed[m.node/64]&bit == 0 || old != m.val { // else the commit has copied it
			copied++
		}
		s.absorbed[m.node/64] &^= bit
		*m = moved{} // nothing is kept alive
	}
	return copied
}

// moved is a machine whose word is not as the snapshot saw it.
type moved struct {
	node    int
	settled bool
	seen    reclaim.Seen[version] // in the word, when it was found to have moved
	raw     *object               // the same, or what was in the word when it was kept
	val     *version
}

// compare lists which of the machines from node on have moved.
func (s *Snapshot) compare(words []word, node int) {
	seen := s.seen[node : node+len(words)]
	for i := range words {
		if now := words[i].Peek(); !now.Is(seen[i]) {
			s.moved = append(s.moved, moved{node: node + i, seen: now})
		}
	}
}

// compareBlocks lists which machines have moved, of blocks of n machines in all. It
// compares after all of the words have been asked for: a processor that guesses
// wrong which of them has changed would wait for each.
func (s *Snapshot) compareBlocks(first []int, n int) {
	if fetching {
		var now [fetched]reclaim.Seen[version] // stored, since to compare them would be to wait
		var seen [fetched]*object
		for i, from := range first {
			now[i%fetched], seen[i%fetched] = s.cell.words.at(uint32(from)).Peek(), s.seen[from]
		}
		if now[0].Is(seen[0]) {
			s.loaded++
		}
	}
	for _, from := range first {
		s.compare(s.cell.words.from(uint32(from))[:min(stampBlock, n-from)], from)
	}
}
