package omega

import "github.com/cellsched/cellsched/resources"

// plain tells whether t is one claim and nothing else.
func (t *Txn) plain() bool {
	if len(t.items) != 1 || t.Gang {
		return false
	}
	it := &t.items[0]
	return it.kind == claimItem && len(it.from) == 0 && len(it.claim.Victims) == 0
}

// applyPlain is apply for a plain transaction, which most are. It grants the claim, or
// changes nothing and returns false: then applyAny decides. It asks what applyAny asks,
// by the same functions, but needs no order, no groups and no reasons. To judge a refused
// claim twice takes 2 % more than once.
//
// As there, the word is loaded before it is asked whether the scheduler was replaced,
// and the epoch is read after the slot was taken. The loop repeats only if another
// commit changed the machine.
func (s *Scheduler) applyPlain(tx *Txn) bool {
	c, o, it := s.cell, s.owner, &tx.items[0]
	it.verdict, it.rec, it.refusal, it.own = pending, nil, 0, nil
	tx.order = tx.order[:0]
	if o.held != nil || o.permits(&it.claim, o.mask.Load()) != done || o.jobless() {
		return false
	}
	it.rec = s.record(it)
	it.rec.tally.add(&it.rec.need)
	node, need := it.node(), &it.claim.Need
	w, at := c.words.at(node), c.slots.at(node)
	for {
		raw, old := settleFor(w, s.maker.Number())
		if s.superseded() || s.claimable(tx, it, old) != done || old.leaving != nil || !resources.Fits(need, &old.free) ||
			!s.place(it, it.rec, &old.live, at, old.seq+1) {
			it.rec.tally.sub(&it.rec.need)
			if it.own != nil {
				at.empty(it.id.slot(), it.last)
				it.id, it.own = AllocationID{}, nil
			}
			return false
		}
		next := s.maker.Next()
		c.follow(&next.V, old, c.present())
		next.V.claims++
		take(&next.V.free, need)
		next.V.live.toggle(it.id.slot())
		if s.swap(tx, node, w, raw, old, next) {
			it.verdict, tx.sights[len(tx.sights)-1].took = done, true
			return true
		}
	}
}

// applyRelease is apply for a transaction of one release. It releases the allocation, or
// changes nothing and returns false where it may not: then applyAny says why.
func (s *Scheduler) applyRelease(tx *Txn) bool {
	c, it := s.cell, &tx.items[0]
	it.rec, it.refusal, it.own, it.dead = nil, 0, nil, false
	tx.order = tx.order[:0]
	rec, v := s.releasable(it.id)
	if v != done {
		return false
	}
	it.rec, it.verdict = rec, done
	node, slot := it.node(), it.id.slot()
	w, at := c.words.at(node), c.slots.at(node)
	for !it.dead {
		raw, old := settleFor(w, s.maker.Number())
		if !old.live.has(slot) {
			tx.saw(node, raw, old, old)
			c.acknowledge(it.id, rec) // preempted, lost or exchanged
			break
		}
		next := s.maker.Next()
		c.follow(&next.V, old, c.present())
		give(&next.V.free, &rec.need)
		next.V.live.toggle(slot)
		it.dead = s.swap(tx, node, w, raw, old, next)
	}
	if it.dead {
		rec.tally.sub(&rec.need)
	}
	at.empty(slot, it.id.seq)
	c.wake(node)
	return true
}

// swap is the one place of a swap by which versions are used again: that of a
// transaction of one item, whose own commit has raw in no other hands. It linearizes
// where the word is swapped. Next goes back to its maker if that fails.
//
// Raw is retired once show has shown next. Until then sights and the snapshot lead to
// it. In the epoch of a cut a version may lead to it for longer: see keepPast.
func (s *Scheduler) swap(tx *Txn, node uint32, w *word, raw *object, old *version, next *object) bool {
	s.cell.opening(node)
	swapped := w.CompareAndSwap(raw, next)
	s.cell.closed(node)
	if !swapped {
		s.maker.Return(next)
		return false
	}
	tx.saw(node, next, old, &next.V)
	if next.V.epoch&1 == 0 {
		tx.replaced = raw
	}
	return true
}
