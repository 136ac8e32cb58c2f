package omega

// finish carries out the verdicts and returns the number of grants. It corrects charges,
// and empties the slots of released and exchanged allocations and of refused claims. It
// tells owners their losses, and wakes schedulers that wait for room.
func (s *Scheduler) finish(tx *Txn) (granted int) {
	c := s.cell
	ended := run{ended: true} // allocations, and charges of refused claims
	for i := range tx.items {
		it := &tx.items[i]
		switch {
		case it.tally == nil: // judged before it got to a machine
		case it.kind == releaseItem: // also if the claims were refused
			if it.dead {
				ended.put(it.tally, &it.claim.Need)
			} else {
				c.acknowledge(it.id)
			}
			c.table(it.node()).empty(it.id.slot(), it.id.seq)
		case it.verdict == done:
			granted++
			s.finishExchange(tx, it)
			s.finishVictims(tx, it)
		default:
			ended.put(it.tally, &it.claim.Need)
			if it.own {
				c.table(it.node()).empty(it.id.slot(), it.last)
				it.id = AllocationID{}
			}
		}
	}
	ended.flush()
	s.finishRemnants(tx)
	if tx.gives && c.waiting() {
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

// finishExchange ends the allocations in exchange for which a claim was granted.
func (s *Scheduler) finishExchange(tx *Txn, it *item) {
	for i, a := range it.from {
		rec := &tx.gone[int(it.gone)+i]
		rec.tally.sub(&rec.need)
		// Else its owner is releasing it, and will find it gone.
		if at := s.cell.table(a.node()); at.beginRelease(a) {
			at.empty(a.slot(), a.seq)
		}
	}
}

// finishVictims marks the allocations that a claim preempted. Each keeps its slot until
// its owner has released it.
func (s *Scheduler) finishVictims(tx *Txn, it *item) {
	for i, a := range it.claim.Victims {
		rec := &tx.gone[int(it.gone)+len(it.from)+i]
		if rec.tally == nil {
			continue // it was divisible, and the claim needed nothing of it
		}
		m := Mark{
			Allocation: s.cell.allocation(rec, it.claim.Machine, a.slot(), a.seq),
			Fate:       Preempted, By: s.owner.name, Until: tx.until(),
		}
		tx.preempted++
		taken := rec.need
		if r := tx.remnantOf(a); r != nil && r.used {
			sub(&taken, &r.item.claim.Need)
			m.Rest = r.item.id
		}
		rec.tally.sub(&taken)
		rec.tally.owner.lost.Add(1)
		rec.tally.owner.push(s.cell, m)
	}
}
