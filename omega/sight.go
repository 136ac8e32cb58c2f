package omega

// sight is a machine in the hands of a commit: the value that it found there, and
// the value that it left there, for which raw is in the word.
type sight struct {
	node     uint32
	raw      *object
	old, val *version
	out      *object // that the scheduler's own swap took out of the word, to be used again; nil for none
}

// saw keeps a sight for show.
func (t *Txn) saw(node uint32, raw *object, old, val *version, out *object) {
	if t.sights == nil {
		t.sights = t.fewSights[:0]
	}
	// Field by field: five words appended whole are put together on the stack, and the
	// copy waits until they are stored. That takes 7 ns.
	n := len(t.sights)
	if n < cap(t.sights) {
		t.sights = t.sights[:n+1]
	} else {
		t.sights = append(t.sights, sight{})
	}
	at := &t.sights[n]
	at.node, at.raw, at.old, at.val, at.out = node, raw, old, val, out
}

// unsee forgets the sights from the given one on, of versions that the cell did not get.
func (t *Txn) unsee(from int) {
	clear(t.sights[from:])
	t.sights = t.sights[:from]
}

// used returns raw if it may be used again, once next has taken its place by a swap of the
// scheduler's own, or by a gang of it that was granted. In the epoch of a cut a version may
// lead to it for longer: see keepPast. Where raw is a version of a failed gang, and old
// another, helpers may still be about to put raw in place, and readers look for old there.
func used(raw *object, old, next *version) *object {
	if next.epoch&1 == 1 || &raw.V != old {
		return nil
	}
	return raw
}

// note puts into tx the parts of the scheduler's snapshot that apply needs.
func (s *Scheduler) note(tx *Txn) {
	snap := s.snap
	if snap != nil && snap.lapsed {
		tx.at = snap.at
	}
	for i := range tx.items {
		it := &tx.items[i]
		if it.kind == releaseItem {
			continue
		}
		it.spec, it.known = nil, nil
		node := it.node()
		if snap == nil || !snap.covers(node) {
			continue
		}
		if at := &snap.ids[node]; at.id == it.claim.Machine {
			it.spec = at.spec
		}
		if tx.Detect != Fine {
			it.known = snap.known(int(node))
		}
	}
}

// show copies into the scheduler's snapshot the states that apply saw.
func (s *Scheduler) show(tx *Txn) {
	for i := range tx.sights {
		at := &tx.sights[i]
		if s.snap != nil && !s.snap.adopt(at, tx.gives) {
			s.snap.see(at.node, at.raw, at.old, at.val)
		}
		if at.out != nil {
			s.maker.Retire(at.out)
		}
	}
	// Versions are not kept alive.
	if len(tx.sights) == 1 {
		tx.sights[0] = sight{} // clear calls the runtime, which takes 3 ns more
	} else {
		clear(tx.sights)
	}
	tx.sights = tx.sights[:0]
}

// adopt is see for a machine that was known as it was, as most are. Gives says that the
// commit may have given room back, too. It returns false where see has to look at more.
//
// It need not ask whether the machine is behind. Then the word had left s.val when the
// snapshot was refreshed. If the commit began later it found another version, since s.val
// is not used again while the snapshot leads to it. If the commit was in doubt meanwhile,
// old may be s.val. Then the machine stays behind val, which is in seen, and the next
// refresh finds the word as it is.
func (s *Snapshot) adopt(at *sight, gives bool) bool {
	node, old, val := at.node, at.old, at.val
	if !s.covers(node) || s.val[node] != old || old.keeps || val.keeps || val.cond != Ready {
		return false
	}
	if bit := uint64(1) << (node % 64); (s.taken[node/64]|s.absorbed[node/64])&bit != 0 {
		return false // the room taken in the snapshot comes back, or the next refresh looks at the machine
	}
	s.seen[node], s.val[node] = at.raw, val
	free := &s.free[node]
	val.unpack(free)
	if val.claims != old.claims && !gives {
		s.index.lower(int(node))
	} else {
		s.index.raise(int(node), free)
	}
	return true
}

// see is put for a machine that a commit settled.
func (s *Snapshot) see(node uint32, raw *object, old, val *version) {
	if !s.covers(node) {
		return
	}
	known := s.known(int(node))
	if (known == nil || known.claims != old.claims) && int(node) == s.index.cursor {
		// Another scheduler places here. Next fit of both would go on from one
		// machine to the next together, and wait for each other at every word.
		s.stepAside()
	}
	s.put(int(node), raw, val, true)
	absorbed, bit := &s.absorbed[node/64], uint64(1)<<(node%64)
	if known == nil || known.seq != old.seq {
		*absorbed |= bit
	}
	if *absorbed&bit != 0 {
		s.seen[node] = nil // for the next refresh to look at it
	}
}

// stepAside moves the scheduler's cursor to the machine with most room of a few
// that depend neither on where it was nor on where others go.
func (s *Snapshot) stepAside() {
	const few = 4
	x, most := &s.index, -1.0
	for range few {
		x.asides++
		h := s.owner.num*golden + x.asides*0xD1342543DE82EF95 // and then splitmix64's finalizer
		h = (h ^ h>>30) * 0xBF58476D1CE4E5B9
		h = (h ^ h>>27) * 0x94D049BB133111EB
		node := among(h^h>>31, len(s.free))
		s.catchUp(node)
		if room := x.shares.sum(&s.free[node]); room > most {
			x.cursor, most = node, room
		}
	}
}
