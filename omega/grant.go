package omega

import "github.com/cellsched/cellsched/resources"

// building is the rest of a machine's next version in the making. Free and live
// are the version's own but while a unit is granted.
type building struct {
	free    resources.Vector
	live    live
	leaving *leaving
	culprit culprit // the allocation that a claim is refused for, if any

	reserved reserved
}

// add adds v to a. Neither can overflow: their sum is within a capacity. Kinds are written
// out, here and below, which takes half the instructions of a loop.
func add(a, v *resources.Vector) {
	const _ = uint(resources.MaxKinds-8) + uint(8-resources.MaxKinds)
	a[0] += v[0]
	a[1] += v[1]
	a[2] += v[2]
	a[3] += v[3]
	a[4] += v[4]
	a[5] += v[5]
	a[6] += v[6]
	a[7] += v[7]
}

// sub subtracts v from a, in which it fits.
func sub(a, v *resources.Vector) {
	a[0] -= v[0]
	a[1] -= v[1]
	a[2] -= v[2]
	a[3] -= v[3]
	a[4] -= v[4]
	a[5] -= v[5]
	a[6] -= v[6]
	a[7] -= v[7]
}

// build makes next the version that old becomes by the items of g. It returns whether they
// change anything, and whether a claim was refused. No other function decides which items
// fit. Verdicts are final only once the version is in place.
func (s *Scheduler) build(tx *Txn, g group, which parts, old *version, at table, next *version) (moved, refused bool) {
	next.follow(old)
	if old.rare == nil && tx.simple(g) {
		return s.buildSimple(tx, g, which, old, at, next)
	}
	var b building
	if old.rare != nil {
		b.leaving, b.reserved = old.leaving(), old.reserved().without(0, tx.time())
	}
	for i := 0; i < len(g.items); {
		it := &tx.items[g.items[i]]
		if it.kind == releaseItem {
			i++
			if which.releases {
				moved = it.release(next) || moved
			}
			continue
		}
		unit := tx.unit(g, i)
		i += len(unit)
		if !which.claims {
			continue
		}
		if s.grant(tx, unit, &b, old, at, next) {
			moved, next.claims = true, old.claims+1
		} else {
			refused = true
		}
	}
	if !moved {
		return false, refused
	}
	if b.leaving != nil || old.rare != nil {
		next.rare, next.keeps = makeRare(old.rare, b.leaving, b.reserved), len(b.reserved) > 0
		tx.settles = tx.settles || len(b.reserved) < len(old.reserved())
	}
	// The epoch is read after the slots were taken. A slot may have been emptied by a
	// release that a cut leaves out. Then the cut leaves out this version too.
	s.cell.date(next, old, s.cell.present())
	return true, refused
}

// simple reports whether the items of g are releases and plain claims, each by itself.
func (t *Txn) simple(g group) bool {
	for _, i := range g.items {
		if it := &t.items[i]; it.kind != releaseItem && !it.plain() {
			return false
		}
	}
	return true
}

// buildSimple is build where nothing is but releases and plain claims, and no allocation is
// leaving.
func (s *Scheduler) buildSimple(tx *Txn, g group, which parts, old *version, at table, next *version) (moved, refused bool) {
	for _, i := range g.items {
		it := &tx.items[i]
		switch {
		case it.kind == releaseItem:
			if which.releases {
				moved = it.release(next) || moved
			}
		case which.claims:
			if v := s.admit(tx, it, old, next, at); v == done {
				moved, next.claims = true, old.claims+1
			} else {
				tx.refuse(it, v, refusal{spec: old.spec, cond: old.cond, free: next.free()})
				refused = true
			}
		}
	}
	if moved {
		s.cell.date(next, old, s.cell.present()) // read after the slots were taken: see build
	}
	return moved, refused
}

// buildPlain is build for one plain claim on a machine that has nothing rare. Next follows
// old. It returns whether the claim is granted.
func (s *Scheduler) buildPlain(tx *Txn, it *item, old *version, at table, next *version) bool {
	if v := s.admit(tx, it, old, next, at); v != done {
		tx.refuse(it, v, refusal{spec: old.spec, cond: old.cond, free: next.free()})
		return false
	}
	next.claims++
	s.cell.date(next, old, s.cell.present()) // read after the slot was taken: see build
	return true
}

// release makes next the version without the allocation that it releases. It returns false if
// that was preempted or lost: then it is acknowledged.
func (it *item) release(next *version) bool {
	slot := it.id.slot()
	it.verdict, it.dead = done, next.live.has(slot)
	if it.dead {
		next.addRoom(&it.claim.Need)
		next.live.toggle(slot)
	}
	return it.dead
}

// grant grants the claims of a unit in next, which is b so far, or records the reason for
// which it does not.
func (s *Scheduler) grant(tx *Txn, unit []int32, b *building, old *version, at table, next *version) bool {
	lead := &tx.items[unit[0]]
	why := refusal{spec: old.spec, cond: old.cond}
	var v verdict
	if b.leaving == nil && len(b.reserved) == 0 && len(unit) == 1 && lead.plain() {
		if v = s.admit(tx, lead, old, next, at); v == done {
			return true
		}
		why.free = next.free()
	} else if v = s.claimable(tx, lead, old); v == done {
		changed := *b
		changed.free, changed.live = next.free(), live{}
		changed.live.follow(&next.live)
		if v = s.grantUnit(tx, unit, &changed, old, at); v == done {
			*b = changed
			next.live.follow(&b.live)
			next.setFree(&b.free)
			return true
		}
		why.free, why.culprit = changed.free, changed.culprit
	} else {
		why.free = next.free()
	}
	for _, i := range unit {
		tx.refuse(&tx.items[i], v, why)
	}
	return false
}

// admit decides about a plain claim on a machine that no allocation is leaving. It is the
// only function that does. next follows old as far as the transaction has come; admit
// changes it if it grants the claim.
func (s *Scheduler) admit(tx *Txn, it *item, old, next *version, at table) verdict {
	v := s.claimable(tx, it, old)
	switch {
	case v != done:
		return v
	case !next.fits(&it.claim.Need):
		return conflict
	case !s.place(tx, it, nil, &next.live, at, old.seq+1):
		return full
	}
	next.subRoom(&it.claim.Need)
	next.live.toggle(it.id.slot())
	it.verdict = done
	return done
}

// claimable returns done if the machine takes a claim at all, or the verdict that refuses
// the claim.
func (s *Scheduler) claimable(tx *Txn, it *item, old *version) verdict {
	switch {
	case old.cond == Removed || it.spec != old.spec && it.claim.Machine != old.spec.id:
		return removed
	case old.cond == Draining && len(it.from) == 0:
		return draining // present allocations may still be resized or exchanged
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
// are still leaving or room is reserved.
func (s *Scheduler) grantUnit(tx *Txn, unit []int32, b *building, old *version, at table) verdict {
	c, lead := s.cell, &tx.items[unit[0]]
	b.leaving = c.remaining(b.leaving, tx.Now)

	// Exchanged allocations give their room back, and hand on the victims that they wait
	// for.
	var given resources.Vector // room of the exchanged allocations
	var inherited leaving      // and the victims that they wait for
	for i, a := range lead.from {
		var cur record
		if !at.get(a, &cur) || !b.live.has(a.slot()) {
			b.culprit.id = a
			return notLive
		}
		rec := &tx.gone[int(lead.gone)+i]
		add(&b.free, &rec.need)
		given = given.Add(rec.need)
		b.live.toggle(a.slot())
		if cur.ext != nil && cur.ext.after != nil {
			inherited = append(inherited, *cur.ext.after...)
		}
	}
	// Victims give their room back too. Claims on that room wait until they have left.
	var victims leaving
	divisible := false
	for _, i := range unit {
		it := &tx.items[i]
		for n, a := range it.claim.Victims {
			rec := &tx.gone[int(it.gone)+len(it.from)+n]
			if !at.get(a, rec) || !b.live.has(a.slot()) {
				b.culprit.id = a
				return notLive
			}
			if rec.tally.precedence >= it.claim.Precedence {
				b.culprit = culprit{id: a, precedence: rec.tally.precedence, claimed: it.claim.Precedence}
				return notLower
			}
			add(&b.free, &rec.need)
			b.live.toggle(a.slot())
			divisible = divisible || rec.tally.owner.limits.Divisible
			victims = append(victims, leaver{a, rec.need, tx.until(), s.owner})
		}
	}

	var sum resources.Vector
	lowest := lead.claim.Precedence
	for _, i := range unit {
		sum = sum.Add(tx.items[i].claim.Need)
		lowest = min(lowest, tx.items[i].claim.Precedence)
	}
	id := b.reserved.names(s.owner, &lead.claim)
	room := b.free
	if len(b.reserved) > 0 {
		// Reservations do not keep the room of the exchanged allocations.
		sub(&room, &given)
		room = b.reserved.room(&room, lowest, id).Add(given)
	}
	if !resources.Fits(&sum, &room) {
		b.free = room // for the reason
		return conflict
	}
	if divisible {
		var ok bool
		sub(&room, &sum)
		if victims, ok = s.divide(tx, unit, &room, victims, b, at, old.seq+1); !ok {
			return full
		}
	}
	b.leaving = b.leaving.with(victims)
	if lead.beside = id != lead.claim.Reservation; lead.beside {
		tx.settles = true // it may wait in line
	} else if id != 0 {
		b.reserved = b.reserved.granted(id, &sum)
	}
	// A claim may start at once if it fits in room that no allocation is leaving. So
	// may claims that stay within the room of the exchanged allocations.
	within := len(lead.from) > 0 && sum.Fits(given)
	for _, i := range unit {
		it := &tx.items[i]
		var after *leaving
		if len(inherited) > 0 {
			waits := inherited // a copy, so that only waiting claims allocate
			after = c.remaining(&waits, tx.Now)
		}
		if !within && !startsNow(&it.claim.Need, b, at) {
			after = b.leaving.with(inherited)
		}
		var ext *extension
		if after != nil && len(*after) > 0 {
			ext = &extension{after: after}
			var before record
			if it.kind == resizeItem && at.get(it.from[0], &before) {
				ext.had = c.running(&before, tx.Now).Min(it.claim.Need)
			}
		}
		if !s.place(tx, it, ext, &b.live, at, old.seq+1) {
			return full
		}
		sub(&b.free, &it.claim.Need)
		b.live.toggle(it.id.slot())
		it.verdict = done
	}
	return done
}

// place gets a slot for a claim, once: a retry keeps it. The contents of the slot are for
// the version that is about to be tried.
func (s *Scheduler) place(tx *Txn, it *item, ext *extension, live *live, at table, seq uint64) bool {
	var own slot
	if !it.own || it.ext != ext || it.changed {
		im := tx.like.image(it, ext, at.cell.layout.size-slotHead)
		if it.own {
			own = at.refill(it.id.slot(), im)
		} else {
			var n uint32
			if n, own = at.reserve(live, im); own == nil {
				return false
			}
			it.own, it.last = true, own.seq().Load()&^vacant
			it.id = allocationID(it.node(), n, s.cell.tag, 0)
		}
		it.ext, it.changed, it.id.seq = ext, false, 0
	}
	// The earlier allocation in the slot may be of the version that is tried for here.
	// That version has no chance then, but the two IDs must still differ.
	if seq = max(seq, it.last+1); it.id.seq != seq {
		if own == nil {
			own = at.at(it.id.slot())
		}
		own.seq().Store(seq)
		it.id.seq = seq
	}
	return true
}
