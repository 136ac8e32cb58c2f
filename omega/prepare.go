package omega

import "github.com/cellsched/cellsched/resources"

// prepare makes the checks that do not depend on a machine's state, and charges the
// claims. It takes the right to the allocations that are to be released, and lists the
// items that are left to do. It returns false if a claim was refused.
func (s *Scheduler) prepare(tx *Txn) (ready bool) {
	p := preparing{s: s, tx: tx}
	if tx.order == nil {
		tx.order = tx.fewOrder[:]
	}
	tx.order, tx.remnants, tx.gives = tx.order[:0], tx.remnants[:0], false
	if tx.shape == claimsApart && s.owner.held == nil {
		return p.plain()
	}
	for i := range tx.items {
		it := &tx.items[i]
		it.begin()
		if it.kind == releaseItem {
			p.release(i)
		}
	}
	ready = true
	for i := 0; i < len(tx.items); {
		n := i + 1
		if tx.items[i].kind != releaseItem {
			for n < len(tx.items) && tx.items[n].kind == followerItem {
				n++
			}
			ready = p.unit(i, n) && ready
		}
		i = n
	}
	p.charged.flush()
	return ready
}

// preparing is a transaction in the hands of prepare.
type preparing struct {
	s  *Scheduler
	tx *Txn

	charged run // the claims so far

	claimed map[uint32]bool // see Txn.claimed; nil until it is asked for

	// culprit and mask are why the unit was refused that is in hand.
	culprit culprit
	mask    *Mask
}

// plain is prepare for plain claims of a scheduler that may hold any amount.
func (p *preparing) plain() (ready bool) {
	o, tx := p.s.owner, p.tx
	mask, none := o.mask.Load(), o.jobless()
	ready = true
	for i := range tx.items {
		it := &tx.items[i]
		it.begin()
		v := o.permits(&it.claim, mask)
		if v == done && none {
			v = jobless
		}
		if v != done {
			p.culprit, p.mask = culprit{claimed: it.claim.Precedence}, mask
			p.refuse(tx.items[i:i+1], v)
			ready = false
			continue
		}
		p.s.charge(tx, it)
		p.charged.put(it.tally, &it.claim.Need)
		tx.order = append(tx.order, int32(i))
	}
	p.charged.flush()
	return ready
}

func (p *preparing) release(i int) {
	p.tx.gives = true
	it := &p.tx.items[i]
	_, by, v := p.s.releasable(it.id, &it.claim.Need)
	if v != done {
		p.tx.refuseRelease(it, by, v)
		return
	}
	it.tally = by
	p.tx.order = append(p.tx.order, int32(i))
}

// refuseRelease refuses a release of an allocation that is charged to by, or to nothing.
func (t *Txn) refuseRelease(it *item, by *tally, v verdict) {
	if it.verdict = v; v == notOwner {
		t.refuse(it, notOwner, refusal{culprit: culprit{id: it.id, owner: by.owner.name}})
	}
}

// unit prepares a claim, or the claims of an exchange, or says of each why they
// are refused.
func (p *preparing) unit(i, n int) bool {
	s, items := p.s, p.tx.items[i:n]
	lead, v := &items[0], done
	p.culprit = culprit{}
	if len(lead.from) > 0 {
		v, p.culprit = s.takeExchanged(p.tx, lead)
	}
	if v == done {
		v = p.permitted(items)
	}
	if v != done {
		p.refuse(items, v)
		return false
	}
	for n := range items {
		it := &items[n]
		s.charge(p.tx, it)
		p.tx.gives = p.tx.gives || len(it.from) > 0 || len(it.claim.Victims) > 0
		p.charged.put(it.tally, &it.claim.Need)
		p.tx.order = append(p.tx.order, int32(i+n))
	}
	return true
}

// refuse says of each claim of a unit why it is refused.
func (p *preparing) refuse(unit []item, v verdict) {
	why := refusal{}
	why.spec, why.cond = p.s.cell.specOf(unit[0].claim.Machine)
	why.culprit, why.limits, why.mask = p.culprit, &p.s.owner.limits, p.mask
	if o := p.s.owner; v == limited {
		why.held, why.limit = o.held.load(), *o.limits.Held
	}
	for i := range unit {
		p.tx.refuse(&unit[i], v, why)
	}
}

// permitted returns the verdict of the scheduler's limits on the claims of a unit.
func (p *preparing) permitted(unit []item) verdict {
	o := p.s.owner
	mask := o.mask.Load()
	for i := range unit {
		claim := &unit[i].claim
		if v := o.permits(claim, mask); v != done {
			p.culprit.claimed, p.mask = claim.Precedence, mask
			return v
		}
	}
	switch {
	case o.jobless():
		return jobless
	case o.held != nil && !p.within(unit):
		return limited
	}
	return done
}

// permits returns the verdict on the claim's precedence and machine, for an owner with
// that mask.
func (o *owner) permits(claim *Claim, mask *Mask) verdict {
	switch {
	case claim.Precedence < o.limits.Lowest || claim.Precedence > o.limits.Highest:
		return notPermitted
	case mask != nil && !mask.Has(claim.Machine.Node()):
		return forbidden
	}
	return done
}

// jobless reports whether an owner may claim for admitted jobs only, and has none.
func (o *owner) jobless() bool { return o.limits.Jobs > 0 && o.jobs.Load().count() == 0 }

// within reports whether the claims of a unit leave the scheduler with no more than it
// may hold, at every moment. Room that the transaction gives back before the claims are
// granted, or with them, does not count.
func (p *preparing) within(unit []item) bool {
	o := p.s.owner
	if p.claimed == nil {
		p.claimed = p.tx.claimed()
	}
	p.charged.flush() // so that its usage includes the claims before
	after := o.held.load()
	for i := range unit {
		after = after.Add(unit[i].claim.Need)
	}
	// An allocation that is live now was counted above: it is taken off after it has died.
	var credit resources.Vector
	for i := range p.tx.items {
		it := &p.tx.items[i]
		if it.kind != releaseItem || it.tally == nil {
			continue
		}
		first := p.tx.Gang || it.node() == unit[0].node() || !p.claimed[it.node()]
		if first && p.s.cell.lives(it.id) {
			credit = credit.Add(it.claim.Need)
		}
	}
	for i, a := range unit[0].from {
		if rec := &p.tx.gone[int(unit[0].gone)+i]; rec.tally.owner == o && p.s.cell.lives(a) {
			credit = credit.Add(rec.need)
		}
	}
	for k := range after {
		after[k] = max(0, after[k]-credit[k])
	}
	return after.Fits(*o.limits.Held)
}

// takeExchanged finds what lead exchanges, and says whether the scheduler may, and which
// allocation it may not.
func (s *Scheduler) takeExchanged(tx *Txn, lead *item) (verdict, culprit) {
	lead.gone = int32(len(tx.gone))
	for _, a := range lead.from {
		rec, ok := s.cell.record(a)
		switch {
		case !ok:
			return notLive, culprit{id: a}
		case !rec.mayTake(s.owner) || lead.kind == resizeItem && rec.tally.owner != s.owner:
			return notOwner, culprit{id: a, owner: rec.tally.owner.name}
		}
		tx.gone = append(tx.gone, rec)
		if lead.kind == resizeItem {
			lead.claim.Account, lead.claim.Precedence = rec.tally.account, rec.tally.precedence
		}
	}
	return done, culprit{}
}

// charge sets the tally that a claim is charged to, and its grantee. It makes room for
// the records of its victims, behind the records that takeExchanged has put there of what it
// exchanges.
func (s *Scheduler) charge(tx *Txn, it *item) {
	if it.claim.Grantee != nil {
		it.grantee = it.claim.Grantee.owner.num
	} else if it.kind == resizeItem {
		it.grantee = tx.gone[it.gone].grantee
	}
	it.tally = s.charged(it.claim.Account, it.claim.Precedence)
	if n := len(it.claim.Victims); n > 0 {
		if len(it.from) == 0 {
			it.gone = int32(len(tx.gone))
		}
		tx.gone = append(tx.gone, make([]record, n)...)
	}
}
