package omega

// plain reports whether t is one claim and nothing else.
func (t *Txn) plain() bool {
	if len(t.items) != 1 || t.Gang {
		return false
	}
	return t.items[0].plain()
}

// plain reports whether an item is a claim that exchanges and preempts nothing. It may be
// one of several claims of an exchange.
func (it *item) plain() bool {
	return it.kind == claimItem && len(it.from) == 0 && len(it.claim.Victims) == 0 && it.claim.Reservation == 0
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
	it.begin()
	tx.order, tx.gives = tx.order[:0], false
	if o.held != nil || o.permits(&it.claim, o.mask.Load()) != done || o.jobless() {
		return false
	}
	s.charge(tx, it)
	it.tally.add(&it.claim.Need)
	node := it.node()
	w, at := c.words.at(node), c.table(node)
	for {
		raw, old := settleFor(w, s.maker.Number())
		next := s.maker.Spare()
		if next == nil {
			next = s.objectFor(old)
		}
		next.V.follow(old)
		if s.superseded() || old.rare != nil || s.admit(tx, it, old, &next.V, at) != done {
			s.giveBack(next)
			it.tally.sub(&it.claim.Need)
			if it.own {
				at.empty(it.id.slot(), it.last)
				it.id, it.own = AllocationID{}, false
			}
			return false
		}
		next.V.claims++
		c.date(&next.V, old, c.present())
		if s.swap(tx, node, w, raw, old, next) {
			return true
		}
	}
}

// applyRelease is apply for a transaction of one release. It releases the allocation, or
// changes nothing and returns false where it may not: then applyAny says why.
func (s *Scheduler) applyRelease(tx *Txn) bool {
	it := &tx.items[0]
	it.begin()
	tx.order = tx.order[:0]
	own, by, v := s.releasable(it.id, &it.claim.Need)
	if it.tally, it.verdict = by, v; v != done {
		return false
	}
	s.end(tx, it, own)
	if it.dead {
		by.sub(&it.claim.Need)
	}
	return true
}

// end takes the allocation that an item releases off its machine, and empties its slot. The
// item has the right to release it. If it was preempted, lost or exchanged before, end
// acknowledges that. The loop repeats only if another commit changed the machine.
func (s *Scheduler) end(tx *Txn, it *item, own slot) {
	c := s.cell
	node, slot := it.id.node(), it.id.slot()
	w := c.words.at(node)
	for !it.dead {
		raw, old := settleFor(w, s.maker.Number())
		if !old.live.has(slot) {
			tx.saw(node, raw, old, old, nil)
			c.acknowledge(it.id)
			break
		}
		next := s.maker.Spare()
		if next == nil {
			next = s.objectFor(old)
		}
		next.V.follow(old)
		c.date(&next.V, old, c.present())
		next.V.addRoom(&it.claim.Need)
		next.V.live.toggle(slot)
		it.dead = s.swap(tx, node, w, raw, old, next)
	}
	c.table(node).vacate(it.id.slot(), own, it.id.seq)
	c.wake(node)
}

// swap swaps a word for a transaction of one item. It linearizes where the word is
// swapped. Next goes back to its maker if that fails.
func (s *Scheduler) swap(tx *Txn, node uint32, w *word, raw *object, old *version, next *object) bool {
	s.cell.opening(node)
	swapped := w.CompareAndSwap(raw, next)
	s.cell.closed(node)
	if !swapped {
		tx.retries++
		s.giveBack(next)
		return false
	}
	tx.saw(node, next, old, &next.V, used(raw, old, &next.V))
	return true
}
