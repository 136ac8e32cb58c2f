package omega

// finish does what follows from the verdicts, and counts the grants: charges
// are corrected, slots that this commit made dead or took in vain are emptied,
// owners are told what they lost, and those who wait for room are woken.
func (s *Scheduler) finish(tx *Txn) (granted int) {
	c := s.cell
	for i := range tx.items {
		it := &tx.items[i]
		switch {
		case it.rec == nil: // judged before it got to a machine
		case it.kind == releaseItem: // whatever became of the claims
			if it.dead {
				it.rec.tally.sub(&it.rec.need)
			} else {
				c.acknowledge(it.id, it.rec)
			}
			c.slots.at(it.node()).empty(it.id.slot(), it.id.seq)
		case it.verdict == done:
			granted++
			s.finishExchange(it)
			s.finishVictims(tx, it)
		default:
			it.rec.tally.sub(&it.rec.need)
			if it.own != nil {
				c.slots.at(it.node()).empty(it.id.slot(), it.last)
				it.id = AllocationID{}
			}
		}
	}
	s.finishRemnants(tx)
	if c.waiting() {
		for left := tx.order; len(left) > 0; {
			var g group
			g, left = tx.nextGroup(left)
			if tx.frees(g) {
				c.wake(g.node)
			}
		}
	}
	return granted
}

// finishExchange ends what a claim was granted for.
func (s *Scheduler) finishExchange(it *item) {
	for i, a := range it.from {
		rec := it.gone[i]
		rec.tally.sub(&rec.need)
		// Else its owner is releasing it, and finds it gone.
		if at := s.cell.slots.at(a.node()); at.beginRelease(a) {
			at.empty(a.slot(), a.seq)
		}
	}
}

// finishVictims marks what a claim preempted, which keeps its slots until its
// owners have released it.
func (s *Scheduler) finishVictims(tx *Txn, it *item) {
	for i, a := range it.claim.Victims {
		rec := it.gone[len(it.from)+i]
		if rec == nil {
			continue // it was divisible, and the claim needed nothing of it
		}
		m := Mark{
			Allocation: s.cell.allocation(rec, it.claim.Machine, a.slot(), a.seq),
			Fate:       Preempted, By: s.owner.name, Until: tx.until(),
		}
		taken := rec.need
		if r := tx.remnantOf(a); r != nil && r.used {
			take(&taken, &r.item.rec.need)
			m.Rest = r.item.id
		}
		rec.tally.sub(&taken)
		rec.tally.owner.push(s.cell, m)
	}
}
