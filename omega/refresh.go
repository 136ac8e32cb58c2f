package omega

import "github.com/cellsched/cellsched/omega/internal/reclaim"

// update is Refresh; visit is called for each machine that has changed. A machine that has
// changed is only noted, and copied when it is looked at: see behind. One that is visited
// and has reserved room is copied at once, or lapse would not know what was free before.
func (s *Snapshot) update(visit func(node int)) (copied int) {
	s.mask = s.owner.mask.Load()
	n := int(s.cell.nodes.Load())
	if len(s.seen) == 0 && n > 0 {
		s.index.begin(s.owner.num, n) // or all of them would pick the same machines
	}
	s.giveBack()
	s.grow(n)
	fenced := s.cell.fenced.Load()
	u := updating{visit: visit, exact: s.fenced != fenced}
	s.fenced = fenced
	for node := 0; node < min(n, int(unstamped)); {
		words := s.cell.words.from(uint32(node))
		words = words[:min(len(words), min(n, int(unstamped))-node)]
		s.compare(&u, words, node)
		node += len(words)
	}
	if len(s.stamps) > 0 {
		s.compareStamped(&u, n)
	}
	if u.n > 0 {
		s.flush(&u)
	}
	if s.lapsed = false; s.cell.reservations.Load() != nil {
		s.lapse(visit)
	}
	return u.copied
}

// fetched is how many machines are fetched at a time: their cache lines fit in the
// smallest cache together.
const fetched = 32

// updating is a refresh in progress. It is on the stack: there pointers are stored
// without asking whether the garbage collector is at work, and keep nothing alive.
type updating struct {
	visit  func(node int)
	exact  bool // machines may have been fenced since the last refresh
	copied int
	n      int // machines with words that are not as the snapshot saw them
	nodes  [fetched]uint32
	seen   [fetched]reclaim.Seen[version] // in the word, when it was found to have moved
}

// compare finds which of the machines from node on have moved.
func (s *Snapshot) compare(u *updating, words []word, node int) {
	seen := s.seen[node : node+len(words)]
	for i := range words {
		if now := words[i].Peek(); !now.Is(seen[i]) {
			u.nodes[u.n%fetched], u.seen[u.n%fetched] = uint32(node+i), now
			if u.n++; u.n == fetched {
				s.flush(u)
			}
		}
	}
}

// compareStamped finds which machines have moved, of those with stamps and of n in all.
func (s *Snapshot) compareStamped(u *updating, n int) {
	var stale [fetched]uint32 // the first machines of blocks with changed stamps
	blocks := 0
	for b := 0; b < len(s.stamps); {
		stamps := s.cell.stamps.from(uint32(b))
		stamps = stamps[:min(len(stamps), len(s.stamps)-b)]
		seen := s.stamps[b : b+len(stamps)]
		for i := range stamps {
			if stamp := stamps[i].Load(); stamp != seen[i] {
				from := int(unstamped) + (b+i)*stampBlock
				if seen[i] = stamp; !atRest(stamp) || from+stampBlock > n {
					seen[i] = unseen
				}
				stale[blocks%fetched] = uint32(from)
				if blocks++; blocks == fetched {
					s.compareBlocks(u, stale[:], n)
					blocks = 0
				}
			}
		}
		b += len(stamps)
	}
	s.compareBlocks(u, stale[:blocks], n)
}

// compareBlocks finds which machines have moved, of blocks of n machines in all. It
// compares after all of the words have been asked for: a processor that guesses
// wrong which of them has changed would wait for each.
func (s *Snapshot) compareBlocks(u *updating, first []uint32, n int) {
	if fetching {
		var now [fetched]reclaim.Seen[version] // stored, since to compare them would be to wait
		var seen [fetched]*object
		for i, from := range first {
			now[i%fetched], seen[i%fetched] = s.cell.words.at(from).Peek(), s.seen[from]
		}
		if now[0].Is(seen[0]) {
			s.loaded++
		}
	}
	for _, from := range first {
		s.compare(u, s.cell.words.from(from)[:min(stampBlock, n-int(from))], int(from))
	}
}

// flush keeps the present states of machines.
func (s *Snapshot) flush(u *updating) {
	nodes := u.nodes[:u.n]
	u.n = 0
	if fetching {
		// A loop of nothing but loads has many of them on the way at the same time. To
		// keep a version is an exchange, which waits for all loads before it.
		own := false
		for i := range nodes {
			own = u.seen[i%fetched].Touch() != own
		}
		if own {
			s.loaded++
		}
	}
	if u.visit == nil {
		for _, node := range nodes {
			s.renew(u, int(node), s.cell.words.at(node).KeepFor(s.maker))
		}
		return
	}
	var raws [fetched]*object
	for i, node := range nodes {
		raws[i%fetched] = s.cell.words.at(node).KeepFor(s.maker)
	}
	s.fetchSpecs(&raws, len(nodes))
	for i, node := range nodes {
		s.renew(u, int(node), raws[i%fetched])
	}
}

// fetchSpecs loads the versions of n machines that are to be visited, and their specs. It
// serves the caches alone.
func (s *Snapshot) fetchSpecs(raws *[fetched]*object, n int) {
	if !fetching {
		return
	}
	sum := int64(0)
	for _, raw := range raws[:n] {
		sum += raw.V.room[0] + int64(raw.V.seq)
	}
	for _, raw := range raws[:n] {
		if spec := raw.V.spec; spec != nil {
			sum += int64(len(spec.Name)) + int64(spec.id) // its first cache line and its last
		}
	}
	s.loaded += sum
}

// differs reports whether v is another state of its machine than old, an earlier version
// or nil. Each version has a number of its own but for a fence. That of a cut has an odd
// epoch. That of a succession has not, so exact tells whether there was one. Otherwise
// old, which has mostly left the caches, is not read. A succession in progress may
// make a machine differ that does not.
func (v *version) differs(old *version, exact bool) bool {
	return old == nil || v != old && (!exact && v.epoch&1 == 0 || v.seq != old.seq)
}

// moved reports whether raw is another state of a machine than the snapshot's. It reads
// the version before only where it has to: mostly it has left the caches.
func (s *Snapshot) moved(node int, raw *object, exact bool) bool {
	if s.behind[node/64]>>(node%64)&1 == 0 {
		return raw.V.differs(s.val[node], exact)
	}
	old := s.seen[node] // to take the address of its version is to read it
	return old != raw && (!exact && raw.V.epoch&1 == 0 || raw.V.seq != old.V.seq)
}

// renew sets raw to the state of a machine that the snapshot saw.
func (s *Snapshot) renew(u *updating, node int, raw *object) {
	val, settled := raw.V.value()
	word, bit := node/64, uint64(1)<<(node%64)
	absorbed := s.absorbed[word]&bit != 0
	if settled && val == &raw.V && !absorbed && (u.visit == nil || !val.keeps) {
		changed := u.visit != nil && s.moved(node, raw, u.exact)
		if s.lag(node, raw); changed {
			u.visit(node)
		}
		u.copied++
		return
	}
	// The version before is asked for, or seen will not say which one the copy is of.
	old := s.known(node)
	s.put(node, raw, val, settled)
	if !absorbed || old != val { // else the commit has copied it
		u.copied++
	}
	s.absorbed[word] &^= bit
	if u.visit != nil && (absorbed || val.differs(old, u.exact)) {
		u.visit(node)
	}
}
