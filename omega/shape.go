package omega

// shape classifies the items of a transaction by their common traits. It selects a shorter way to the
// same result.
type shape uint8

const (
	anyShape      shape = iota
	releasesApart       // nothing but releases, no two of them on one machine
	claimsApart         // nothing but plain claims, no two of them on one machine
)

// look sets the shape of t. It finds that machines differ where their numbers rise from item
// to item. They may fall once, to numbers below that of the first item: a search by next fit
// goes around. Items in another order have any shape. Cost: O(items).
func (t *Txn) look() {
	t.shape, t.fall = anyShape, 0
	first := t.items[0].node()
	last := first
	release, fall := t.items[0].kind == releaseItem, 0
	if !release && !t.items[0].plain() {
		return
	}
	for i := 1; i < len(t.items); i++ {
		it := &t.items[i]
		node := uint32(it.claim.Machine.Node())
		switch {
		case release:
			if it.kind != releaseItem {
				return
			}
			node = it.id.node()
		case !it.plain():
			return
		}
		if node <= last {
			if fall > 0 {
				return
			}
			fall = i
		}
		if fall > 0 && node >= first {
			return
		}
		last = node
	}
	if t.fall = int32(fall); release {
		t.shape = releasesApart
	} else {
		t.shape = claimsApart
	}
}

// applyReleases is apply for releases on machines of their own. Each is carried out by itself,
// as if it was the only one of the transaction.
func (s *Scheduler) applyReleases(tx *Txn) {
	tx.order, tx.gives = tx.order[:0], true
	if len(tx.items) >= touched {
		for i := range tx.items {
			s.touchRelease(tx.items[i].id)
		}
	}
	ended := run{ended: true}
	for i := range tx.items {
		it := &tx.items[i]
		it.begin()
		own, by, v := s.releasable(it.id, &it.claim.Need)
		if v != done {
			tx.refuseRelease(it, by, v)
			continue
		}
		it.tally, it.verdict = by, done
		s.end(tx, it, own)
		if it.dead {
			ended.put(by, &it.claim.Need)
		}
	}
	ended.flush()
}
