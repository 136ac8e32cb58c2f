package omega

import (
	"fmt"

	"github.com/cellsched/cellsched/resources"
)

// Commit sends tx to the cell and returns how many of its claims were granted.
//
// An incremental transaction grants the claims that fit, machine by machine; a
// gang grants all or none. What became of each item, and why, is read from tx
// afterwards: a refused claim is a result, so err is about bad input only, and
// then nothing has changed: [ErrEmpty], [ErrCommitted], [ErrUnknown] machine,
// account or grantee, [resources.ErrQuantity], [ErrLimit] for a gang that is
// too wide, [ErrVictim], [ErrExchange], [ErrGrace], [ErrSuperseded], [ErrBusy].
//
// It never waits for other commits: it is lock-free, so a scheduler stalled
// inside its own commit keeps nobody from committing. (The first claim for an
// account takes a mutex that other schedulers' first claims for it take too, and
// who frees room that somebody waits for takes one for a moment.) Granting linearizes machine by machine
// at the swap of its word, a gang's at one swap for all. Cost: O(items log
// items), or O(items) where they come in machine order; one heap object for a
// claim alone on its machine, the machine's new version, and one more for a
// need that the scheduler has not claimed lately; a few more on a machine with
// more than 256 allocations; and a retry for every commit that changed the
// same machine meanwhile, or any machine of a gang. It is lock-free, not
// wait-free: under steady contention a large gang may retry for long while
// others get through.
func (s *Scheduler) Commit(tx *Txn) (granted int, err error) {
	if !s.busy.CompareAndSwap(false, true) {
		return 0, fmt.Errorf("%w: %q", ErrBusy, s.owner.name)
	}
	defer s.busy.Store(false)
	if !tx.state.CompareAndSwap(txnOpen, txnCommitting) {
		return 0, ErrCommitted
	}
	if err = tx.check(s); err == nil && s.superseded() {
		err = s.supersededError()
	}
	if err != nil {
		tx.state.Store(txnOpen)
		s.Pass()
		return 0, err
	}
	tx.cell = s.cell

	ready := s.prepare(tx)
	tx.sort()
	all := parts{releases: true, claims: true}
	if tx.Gang && (!ready || !s.commitGang(tx)) {
		s.refuseGang(tx)
		all.claims = false // only the releases are left to do
	}
	if !tx.Gang || !all.claims {
		for left := tx.order; len(left) > 0; {
			var g group
			g, left = tx.nextGroup(left)
			s.commitOne(tx, g, all)
		}
	}
	granted = s.finish(tx)
	tx.state.Store(txnCommitted)
	s.Pass()
	return granted, nil
}

// Release gives back one allocation, or acknowledges that it was preempted or
// lost. Unlike Commit it may be called from any goroutine, at any time, and
// does not touch the scheduler's snapshot: what runs the work may call it. Where
// a grantee exchanges the allocation at the same time, it succeeds either way.
// Lock-free, but where somebody waits for room. Errors: an [ItemError] with
// [ErrReleased] or [ErrNotOwner]; [ErrSuperseded].
func (s *Scheduler) Release(a AllocationID) error {
	c := s.cell
	if s.superseded() {
		return s.supersededError()
	}
	rec, v := s.releasable(a)
	if v != done {
		return &ItemError{Release: true, Allocation: a, Reason: reasons[v], space: c.space}
	}
	w, at := c.words.at(a.node()), c.slots.at(a.node())
	for {
		raw, old := settle(w)
		if !old.live.has(a.slot()) {
			break // preempted, lost or exchanged
		}
		next := c.succeed(old, c.present())
		give(&next.free, &rec.need)
		next.live.toggle(a.slot())
		c.opening(a.node())
		swapped := w.CompareAndSwap(raw, next)
		c.closed(a.node())
		if swapped {
			rec.tally.sub(&rec.need)
			break
		}
	}
	at.empty(a.slot(), a.seq)
	c.wake(a.node())
	return nil
}

// releasable returns the record of an allocation of the scheduler's, which it
// alone now may release, or why it can not.
func (s *Scheduler) releasable(a AllocationID) (*record, verdict) {
	rec := s.cell.record(a)
	switch {
	case rec == nil:
		return nil, notLive
	case rec.tally.owner != s.owner:
		return nil, notOwner
	case !s.cell.slots.at(a.node()).beginRelease(a):
		return nil, notLive
	}
	return rec, done
}

// prepare judges what does not depend on a machine's state, charges the claims,
// takes the right to what is to be released or exchanged, and lists the items
// that are left to do. It returns false if a claim was refused.
func (s *Scheduler) prepare(tx *Txn) (ready bool) {
	p := preparing{s: s, tx: tx}
	tx.order = tx.order[:0]
	for i := range tx.items {
		it := &tx.items[i]
		it.verdict, it.rec, it.refusal, it.placed = pending, nil, 0, false
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
	p.flush()
	return ready
}

// preparing is a transaction in the hands of prepare.
type preparing struct {
	s  *Scheduler
	tx *Txn

	// charged is what consecutive claims add up to that are charged to the same
	// tally.
	tally   *tally
	charged resources.Vector
}

func (p *preparing) release(i int) {
	it := &p.tx.items[i]
	if it.rec, it.verdict = p.s.releasable(it.id); it.verdict == done {
		it.verdict = pending
		p.tx.order = append(p.tx.order, int32(i))
	}
}

func (p *preparing) charge(rec *record) {
	if p.tally != rec.tally {
		p.flush()
		p.tally = rec.tally
	}
	give(&p.charged, &rec.need)
}

func (p *preparing) flush() {
	if p.tally != nil {
		p.tally.add(&p.charged)
		p.charged = resources.Vector{}
	}
}

// unit prepares a claim, or the claims of an exchange, or says of each why they
// are refused.
func (p *preparing) unit(i, n int) bool {
	s, items := p.s, p.tx.items[i:n]
	lead, v := &items[0], done
	if len(lead.from) > 0 {
		v = s.take(lead)
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
		it.rec = s.record(it)
		p.charge(it.rec)
		p.tx.order = append(p.tx.order, int32(i+n))
	}
	return true
}

// refuse says of each claim of a unit why it is refused.
func (p *preparing) refuse(unit []item, v verdict) {
	why := refusal{}
	why.spec, why.cond = p.s.cell.specOf(unit[0].claim.Machine)
	if o := p.s.owner; v == limited && o.held != nil {
		why.held, why.limit = o.held.load(), *o.limits.Held
	}
	for i := range unit {
		p.tx.refuse(&unit[i], v, why)
	}
}

// permitted says whether the scheduler's limits allow the claims of a unit.
func (p *preparing) permitted(unit []item) verdict {
	o := p.s.owner
	mask := o.mask.Load()
	for i := range unit {
		claim := &unit[i].claim
		if claim.Precedence < o.limits.Lowest || claim.Precedence > o.limits.Highest ||
			mask != nil && !mask.Has(claim.Machine.Node()) {
			return forbidden
		}
	}
	if o.limits.Jobs > 0 && o.jobs.Load() == 0 || o.held != nil && !p.within(unit) {
		return limited
	}
	return done
}

// within says whether the claims of a unit leave the scheduler with no more
// than it may hold. What the transaction gives back does not count.
func (p *preparing) within(unit []item) bool {
	o := p.s.owner
	p.flush() // so that what it holds includes the claims before
	after := o.held.load()
	for i := range unit {
		after = after.Add(unit[i].claim.Need)
	}
	// What is live now was counted above: it is taken off after it has died.
	var credit resources.Vector
	for i := range p.tx.items {
		if it := &p.tx.items[i]; it.kind == releaseItem && it.rec != nil && p.s.cell.lives(it.id) {
			credit = credit.Add(it.rec.need)
		}
	}
	for i, a := range unit[0].from {
		if rec := unit[0].gone[i]; rec.tally.owner == o && p.s.cell.lives(a) {
			credit = credit.Add(rec.need)
		}
	}
	for k := range after {
		after[k] = max(0, after[k]-credit[k])
	}
	return after.Fits(*o.limits.Held)
}

// take finds what lead exchanges, and says whether the scheduler may.
func (s *Scheduler) take(lead *item) verdict {
	lead.gone = lead.gone[:0]
	for _, a := range lead.from {
		rec := s.cell.record(a)
		switch {
		case rec == nil:
			return notLive
		case !rec.mayTake(s.owner) || lead.kind == resizeItem && rec.tally.owner != s.owner:
			return notOwner
		}
		lead.gone = append(lead.gone, rec)
		if lead.kind == resizeItem {
			lead.claim.Account, lead.claim.Precedence = rec.tally.account, rec.tally.precedence
		}
	}
	return done
}

// parts says which items of a group a commit is to apply.
type parts struct{ releases, claims bool }

// commitOne applies the items of one machine in one step. The swap is the
// linearization point; a group that changes nothing linearizes where it loaded
// the word. The loop repeats only if another commit succeeded.
func (s *Scheduler) commitOne(tx *Txn, g group, which parts) {
	c := s.cell
	w, at := c.words.at(g.node), c.slots.at(g.node)
	for {
		raw, old := settle(w)
		if which.claims && s.superseded() {
			s.refuseSuperseded(tx, g)
			which.claims = false // a release that was begun is ended
		}
		next, _ := s.build(tx, g, which, old, at, c.present())
		if next == nil {
			s.see(g.node, raw, old)
			return
		}
		c.opening(g.node)
		swapped := w.CompareAndSwap(raw, next)
		c.closed(g.node)
		if swapped {
			s.see(g.node, next, next)
			return
		}
		// Lost the race, not necessarily the room: look again before calling
		// it a conflict.
	}
}

// commitGang applies all items in one step over all machines, or reports that
// some claim was refused, and then has applied none. It repeats only if some
// other commit changed one of the machines, or a cut began.
func (s *Scheduler) commitGang(tx *Txn) bool {
	c := s.cell
	both := parts{releases: true, claims: true}
	for {
		// Steps are fresh each time: a helper may still be reading the last.
		// All versions of one try are of one epoch, and all words were read in
		// it: a cut takes all of them or none.
		epoch := c.present()
		var steps []step
		refused := false
		for left := tx.order; len(left) > 0; {
			var g group
			g, left = tx.nextGroup(left)
			w, at := c.words.at(g.node), c.slots.at(g.node)
			raw, old := settle(w)
			next, no := s.build(tx, g, both, old, at, epoch)
			refused = refused || no
			s.see(g.node, raw, old)
			if next != nil {
				if steps == nil {
					steps = make([]step, 0, len(tx.order))
				}
				steps = append(steps, step{w, old, next})
			}
		}
		if s.superseded() {
			for left := tx.order; len(left) > 0; {
				var g group
				g, left = tx.nextGroup(left)
				s.refuseSuperseded(tx, g)
			}
			return false
		}
		if refused {
			return false
		}
		if c.present() != epoch {
			continue
		}
		for left := tx.order; len(left) > 0; {
			var g group
			g, left = tx.nextGroup(left)
			c.opening(g.node)
		}
		swapped := len(steps) == 0 || new(gang).run(steps)
		for left := tx.order; len(left) > 0; {
			var g group
			g, left = tx.nextGroup(left)
			c.closed(g.node)
		}
		if swapped {
			for _, st := range steps {
				s.see(uint32(st.next.spec.id.Node()), st.next, st.next)
			}
			return true
		}
	}
}

// refuseGang marks the claims that were not refused themselves.
func (s *Scheduler) refuseGang(tx *Txn) {
	for i := range tx.items {
		if it := &tx.items[i]; it.kind != releaseItem && (it.verdict == done || it.verdict == pending) {
			it.verdict = gangRefused
		}
	}
}

// refuseSuperseded refuses the claims on a machine.
func (s *Scheduler) refuseSuperseded(tx *Txn, g group) {
	for _, i := range g.items {
		if it := &tx.items[i]; it.kind != releaseItem {
			it.verdict = superseded
		}
	}
}

// building is a machine's next version in the making.
type building struct {
	free    resources.Vector
	live    live
	leaving *leaving
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
func (s *Scheduler) build(tx *Txn, g group, which parts, old *version, at *slots, epoch uint16) (next *version, refused bool) {
	b := building{old.free, old.live, old.leaving}
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
	next = &version{
		seq: old.seq + 1, spec: old.spec, free: b.free, live: b.live, leaving: b.leaving,
		claims: claims, epoch: epoch, cond: old.cond,
	}
	if epoch&1 == 1 {
		s.cell.keepPast(next, old)
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
	free := b.free
	if v == done {
		changed := *b
		if v = s.grantUnit(tx, unit, &changed, old, at); v == done {
			*b = changed
			return true
		}
		free = changed.free
	}
	why := refusal{spec: old.spec, cond: old.cond, free: free}
	for _, i := range unit {
		tx.refuse(&tx.items[i], v, why)
	}
	return false
}

// claimable says whether the machine takes a claim at all.
func (s *Scheduler) claimable(tx *Txn, it *item, old *version) verdict {
	switch {
	case old.cond == Removed || old.spec.id != it.claim.Machine:
		return removed
	case old.cond == Draining && len(it.from) == 0:
		return draining // what is there already may still be resized or exchanged
	case tx.Detect == Fine:
		return done
	}
	seen := s.snap.version(it.node())
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
	for _, i := range unit {
		it := &tx.items[i]
		it.gone = it.gone[:len(it.from)]
		for _, a := range it.claim.Victims {
			rec := at.get(a)
			if rec == nil || !b.live.has(a.slot()) {
				return notLive
			}
			if rec.tally.precedence >= it.claim.Precedence {
				return notLower
			}
			give(&b.free, &rec.need)
			b.live.toggle(a.slot())
			it.gone = append(it.gone, rec)
			victims = append(victims, leaver{a, rec.need, tx.Now.Add(tx.Grace), s.owner})
		}
	}
	b.leaving = b.leaving.with(victims)

	var sum resources.Vector
	for _, i := range unit {
		sum = sum.Add(tx.items[i].claim.Need)
	}
	if !sum.Fits(b.free) {
		return conflict
	}
	// What fits in room that nobody is leaving may start at once, and so may
	// what stays within what it was exchanged for.
	within := len(lead.from) > 0 && sum.Fits(given)
	for _, i := range unit {
		it := &tx.items[i]
		rec := it.rec
		after := c.remaining(&inherited, tx.Now)
		if !within && !startsNow(&it.claim.Need, b, at) {
			after = b.leaving.with(inherited)
		}
		if after != nil && len(*after) > 0 {
			ext := extension{after: after}
			if rec.ext != nil {
				ext.grantee = rec.ext.grantee
			}
			if it.kind == resizeItem {
				ext.had = c.running(at.get(it.from[0]), tx.Now).Min(rec.need)
			}
			rec = &record{need: rec.need, tally: rec.tally, ext: &ext}
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
	if !it.placed {
		slot, ok := at.reserve(live, rec)
		if !ok {
			return false
		}
		it.id, it.placed = allocationID(it.node(), slot, s.cell.tag, 0), true
		it.last = at.at(slot).seq.Load() &^ vacant
	}
	own := at.at(it.id.slot())
	if own.rec.Load() != rec {
		own.rec.Store(rec)
	}
	// The allocation before this one may be of the version that is tried for
	// here, which then has no chance; still its ID must not seem to be this.
	if seq = max(seq, it.last+1); it.id.seq != seq {
		own.seq.Store(seq)
		it.id.seq = seq
	}
	return true
}

// finish does what follows from the verdicts, and counts the grants: charges
// are corrected, slots that this commit made dead or took in vain are emptied,
// owners are told what they lost, and those who wait for room are woken.
func (s *Scheduler) finish(tx *Txn) (granted int) {
	c := s.cell
	for i := range tx.items {
		it := &tx.items[i]
		switch {
		case it.rec == nil: // judged before it got to a machine
		case it.kind == releaseItem && it.verdict == done:
			if it.dead {
				it.rec.tally.sub(&it.rec.need)
			}
			c.slots.at(it.node()).empty(it.id.slot(), it.id.seq)
		case it.kind == releaseItem: // it was not begun
		case it.verdict == done:
			granted++
			s.finishExchange(it)
			s.finishVictims(tx, it)
		default:
			it.rec.tally.sub(&it.rec.need)
			if it.placed {
				c.slots.at(it.node()).empty(it.id.slot(), it.last)
				it.id = AllocationID{}
			}
		}
	}
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
		rec.tally.sub(&rec.need)
		rec.tally.owner.push(s.cell, Mark{
			Allocation: s.cell.allocation(rec, it.claim.Machine, a.slot(), a.seq),
			Fate:       Preempted, By: s.owner.name, Until: tx.Now.Add(tx.Grace),
		})
	}
}
