package omega

import "github.com/cellsched/cellsched/resources"

// building is a machine's next version in the making.
type building struct {
	free    resources.Vector
	live    live
	leaving *leaving
	culprit culprit // for which a claim is refused, if it is for one
}

// give adds v to a. Neither can overflow: their sum is within a capacity.
func give(a, v *resources.Vector) {
	for k, q := range v {
		a[k] += q
	}
}

// take subtracts v from a, in which it fits.
func take(a, v *resources.Vector) {
	for k, q := range v {
		a[k] -= q
	}
}

// build returns the version that old becomes by the items of g, or nil if they
// change nothing, and whether a claim was refused. It is the one place that
// says what fits. Verdicts are final only once the version is in place.
func (s *Scheduler) build(tx *Txn, g group, which parts, old *version, at *slots) (next *object, refused bool) {
	b := building{free: old.free, live: old.live, leaving: old.leaving}
	moved, claims := false, old.claims
	for i := 0; i < len(g.items); {
		it := &tx.items[g.items[i]]
		if it.kind == releaseItem {
			i++
			if which.releases {
				it.verdict = done
				// Else it was preempted or lost, and this acknowledges it.
				slot := it.id.slot()
				if it.dead = b.live.has(slot); it.dead {
					give(&b.free, &it.rec.need)
					b.live.toggle(slot)
					moved = true
				}
			}
			continue
		}
		unit := tx.unit(g, i)
		i += len(unit)
		if !which.claims {
			continue
		}
		if s.grant(tx, unit, &b, old, at) {
			moved, claims = true, old.claims+1
		} else {
			refused = true
		}
	}
	if !moved {
		return nil, refused
	}
	// The epoch is read after the slots were taken: a slot may have been emptied by
	// a release that a cut leaves out, and then so does the cut with this version.
	epoch := s.cell.present()
	next = &object{V: version{
		seq: old.seq + 1, spec: old.spec, free: b.free, live: b.live, leaving: b.leaving,
		claims: claims, epoch: epoch, cond: old.cond,
	}}
	if epoch&1 == 1 {
		s.cell.keepPast(&next.V, old)
	}
	return next, refused
}

// grant grants the claims of a unit in b, or says why it does not.
func (s *Scheduler) grant(tx *Txn, unit []int32, b *building, old *version, at *slots) bool {
	lead := &tx.items[unit[0]]
	v := s.claimable(tx, lead, old)
	plain := len(lead.from) == 0 && len(lead.claim.Victims) == 0 && len(unit) == 1
	if v == done && plain && b.leaving == nil {
		// The common case, in place.
		switch {
		case !resources.Fits(&lead.claim.Need, &b.free):
			v = conflict
		case !s.place(lead, lead.rec, &b.live, at, old.seq+1):
			v = full
		default:
			take(&b.free, &lead.claim.Need)
			b.live.toggle(lead.id.slot())
			lead.verdict = done
			return true
		}
	}
	why := refusal{spec: old.spec, cond: old.cond, free: b.free}
	if v == done {
		changed := *b
		if v = s.grantUnit(tx, unit, &changed, old, at); v == done {
			*b = changed
			return true
		}
		why.free, why.culprit = changed.free, changed.culprit
	}
	for _, i := range unit {
		tx.refuse(&tx.items[i], v, why)
	}
	return false
}

// claimable says whether the machine takes a claim at all.
func (s *Scheduler) claimable(tx *Txn, it *item, old *version) verdict {
	switch {
	case old.cond == Removed || it.spec != old.spec && it.claim.Machine != old.spec.id:
		return removed
	case old.cond == Draining && len(it.from) == 0:
		return draining // what is there already may still be resized or exchanged
	case tx.Detect == Fine:
		return done
	}
	seen := it.known
	if seen == nil || tx.Detect == Coarse && seen.seq != old.seq ||
		tx.Detect == CoarseClaims && (seen.claims != old.claims || seen.spec.id != old.spec.id) {
		return changed
	}
	return done
}

// grantUnit is grant with victims, an exchange, or where preempted allocations
// are still leaving.
func (s *Scheduler) grantUnit(tx *Txn, unit []int32, b *building, old *version, at *slots) verdict {
	c, lead := s.cell, &tx.items[unit[0]]
	b.leaving = c.remaining(b.leaving, tx.Now)

	var given resources.Vector // what the exchanged have
	var inherited leaving      // and wait for
	for i, a := range lead.from {
		cur := at.get(a)
		if cur == nil || !b.live.has(a.slot()) {
			b.culprit.id = a
			return notLive
		}
		rec := lead.gone[i]
		give(&b.free, &rec.need)
		given = given.Add(rec.need)
		b.live.toggle(a.slot())
		if cur.ext != nil && cur.ext.after != nil {
			inherited = append(inherited, *cur.ext.after...)
		}
	}
	var victims leaving
	divisible := false
	for _, i := range unit {
		it := &tx.items[i]
		it.gone = it.gone[:len(it.from)]
		for _, a := range it.claim.Victims {
			rec := at.get(a)
			if rec == nil || !b.live.has(a.slot()) {
				b.culprit.id = a
				return notLive
			}
			if rec.tally.precedence >= it.claim.Precedence {
				b.culprit = culprit{id: a, precedence: rec.tally.precedence, claimed: it.claim.Precedence}
				return notLower
			}
			give(&b.free, &rec.need)
			b.live.toggle(a.slot())
			it.gone = append(it.gone, rec)
			divisible = divisible || rec.tally.owner.limits.Divisible
			victims = append(victims, leaver{a, rec.need, tx.until(), s.owner})
		}
	}

	var sum resources.Vector
	for _, i := range unit {
		sum = sum.Add(tx.items[i].claim.Need)
	}
	if !resources.Fits(&sum, &b.free) {
		return conflict
	}
	if divisible {
		var ok bool
		if victims, ok = s.divide(tx, unit, &sum, victims, b, at, old.seq+1); !ok {
			return full
		}
	}
	b.leaving = b.leaving.with(victims)
	// What fits in room that nobody is leaving may start at once, and so may
	// what stays within what it was exchanged for.
	within := len(lead.from) > 0 && sum.Fits(given)
	for _, i := range unit {
		it := &tx.items[i]
		rec := it.rec
		var after *leaving
		if len(inherited) > 0 {
			waits := inherited // a copy, so that the heap is for those only who wait
			after = c.remaining(&waits, tx.Now)
		}
		if !within && !startsNow(&it.claim.Need, b, at) {
			after = b.leaving.with(inherited)
		}
		if after != nil && len(*after) > 0 {
			ext := extension{after: after}
			if it.kind == resizeItem {
				ext.had = c.running(at.get(it.from[0]), tx.Now).Min(rec.need)
			}
			rec = &record{need: rec.need, tally: rec.tally, grantee: rec.grantee, ext: &ext}
		}
		if !s.place(it, rec, &b.live, at, old.seq+1) {
			return full
		}
		take(&b.free, &it.claim.Need)
		b.live.toggle(it.id.slot())
		it.verdict = done
	}
	return done
}

// place gets a slot for a claim, once: a retry keeps it. What the slot says is
// for the version that is about to be tried.
func (s *Scheduler) place(it *item, rec *record, live *live, at *slots, seq uint64) bool {
	if it.own == nil {
		n, own := at.reserve(live, rec)
		if own == nil {
			return false
		}
		it.id, it.own = allocationID(it.node(), n, s.cell.tag, 0), own
		it.last = own.seq.Load() &^ vacant
	} else if it.own.rec.Load() != rec {
		it.own.rec.Store(rec)
	}
	// The allocation before this one may be of the version that is tried for
	// here, which then has no chance; still its ID must not seem to be this.
	if seq = max(seq, it.last+1); it.id.seq != seq {
		it.own.seq.Store(seq)
		it.id.seq = seq
	}
	return true
}
