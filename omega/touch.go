package omega

import "math"

// touched is how many items a transaction has at least for what they look at to be loaded
// beforehand. Fewer gain little.
const touched = 8

// touch loads what the items of tx will look at on their machines, for the caches alone. The
// loads of one machine mostly do not wait here for those of another: a version that another
// scheduler has made is kept by an exchange. Later all of them would, behind a swap each.
func (s *Scheduler) touch(tx *Txn) {
	c, maker := s.cell, s.maker.Number()
	last := uint32(math.MaxUint32)
	for _, i := range tx.order {
		if node := tx.items[i].node(); node != last {
			c.words.at(node).Peek().Touch()
			last = node
		}
	}
	if tx.shape == claimsApart {
		return // they lie side by side, and their slots gain nothing
	}
	last = math.MaxUint32
	for _, i := range tx.order {
		it := &tx.items[i]
		node := it.node()
		if node == last || it.kind == releaseItem {
			continue // the slot of a release was looked up
		}
		last = node
		v := &c.words.at(node).KeepFor(maker).V
		if it.spec == nil && v.spec.id == 0 {
			continue // never
		}
		if own := c.table(node).at(v.live.free(0)); own != nil {
			own.meta().Load()
		}
	}
}

// touchRelease is touch for a release.
func (s *Scheduler) touchRelease(a AllocationID) {
	if !s.cell.may(a) {
		return
	}
	s.cell.words.at(a.node()).Peek().Touch()
	if own := s.cell.table(a.node()).at(a.slot()); own != nil {
		own.seq().Load()
	}
}
