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
// by the same functions, but needs no order, no groups and no reasons.
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
		raw, old := settle(w)
		if s.superseded() || s.claimable(tx, it, old) != done || old.leaving != nil || !resources.Fits(need, &old.free) ||
			!s.place(it, it.rec, &old.live, at, old.seq+1) {
			it.rec.tally.sub(&it.rec.need)
			if it.own != nil {
				at.empty(it.id.slot(), it.last)
				it.id, it.own = AllocationID{}, nil
			}
			return false
		}
		next := c.succeed(old, c.present())
		next.claims++
		take(&next.free, need)
		next.live.toggle(it.id.slot())
		c.opening(node)
		swapped := w.CompareAndSwap(raw, next)
		c.closed(node)
		if swapped {
			it.verdict = done
			tx.saw(node, next, old, next)
			return true
		}
	}
}
