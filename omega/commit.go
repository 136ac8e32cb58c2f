package omega

import "fmt"

// Commit sends tx to the cell and returns how many of its claims were granted.
//
// An incremental transaction grants the claims that fit, machine by machine; a
// gang grants all or none. What became of each item, and why, is read from tx
// afterwards: a refused claim is a result, so err is about bad input only, and
// then nothing has changed: [ErrEmpty], [ErrCommitted], [ErrUnknown] machine
// or account, [resources.ErrQuantity], [ErrBusy].
//
// It never waits: it is lock-free, so a scheduler stalled inside its own
// commit keeps nobody from committing. Granting linearizes machine by machine
// at the swap of its word, a gang's at one swap for all. Cost: O(items log
// items), or O(items) where they come in machine order; two heap objects for a
// claim alone on its machine (its record and the machine's new version), a few
// more on a machine with more than 256 allocations; and a retry for every
// commit that changed the same machine meanwhile, or any machine of a gang. It is
// lock-free, not wait-free: under steady contention a large gang may retry for
// long while others get through.
func (s *Scheduler) Commit(tx *Txn) (granted int, err error) {
	if !s.busy.CompareAndSwap(false, true) {
		return 0, fmt.Errorf("%w: %q", ErrBusy, s.name)
	}
	defer s.busy.Store(false)
	if err := tx.check(s.cell); err != nil {
		return 0, err
	}
	tx.cell = s.cell

	all := parts{releases: true, claims: true}
	if tx.Gang && !s.commitGang(tx) {
		all.claims = false // only the releases are left to do
	}
	if !tx.Gang || !all.claims {
		for g := range tx.groups {
			s.commitOne(tx, g, all)
		}
	}
	for g := range tx.groups {
		granted += s.finish(tx, g)
	}
	return granted, nil
}

// Release gives back one allocation. Errors: an [ItemError] with [ErrReleased],
// [ErrNotOwner] or [ErrRemoved], or [ErrBusy].
func (s *Scheduler) Release(a AllocationID) error {
	var tx Txn
	tx.Release(a)
	if _, err := s.Commit(&tx); err != nil {
		return err
	}
	return tx.Err(0)
}

// parts says which items of a group a commit is to apply.
type parts struct{ releases, claims bool }

// commitOne applies the items of one machine in one step. The swap is the
// linearization point; a group that changes nothing linearizes where it loaded
// the word. The loop repeats only if another commit succeeded.
func (s *Scheduler) commitOne(tx *Txn, g group, which parts) {
	w, at := s.cell.words.at(g.node), s.cell.slots.at(g.node)
	for {
		raw, old := settle(w)
		next, _ := s.build(tx, g, which, old, at)
		if next == nil {
			if w.Load() != raw && tx.misses(g) {
				continue
			}
			s.see(g.node, raw, old)
			return
		}
		if w.CompareAndSwap(raw, next) {
			s.see(g.node, next, next)
			return
		}
		// Lost the race, not necessarily the room: look again before calling
		// it a conflict.
	}
}

// commitGang applies all items in one step over all machines, or reports that
// some claim was refused, and then has applied none. It repeats only if some
// other commit changed one of the machines.
func (s *Scheduler) commitGang(tx *Txn) bool {
	both := parts{releases: true, claims: true}
	for {
		// Steps are fresh each time: a helper may still be reading the last.
		var steps []step
		refused, again := false, false
		for g := range tx.groups {
			w, at := s.cell.words.at(g.node), s.cell.slots.at(g.node)
			raw, old := settle(w)
			next, no := s.build(tx, g, both, old, at)
			refused = refused || no
			s.see(g.node, raw, old)
			if next != nil {
				steps = append(steps, step{w, old, next})
			} else if w.Load() != raw && tx.misses(g) {
				again = true
			}
		}
		if again {
			continue
		}
		if refused {
			s.refuseGang(tx)
			return false
		}
		if len(steps) == 0 || new(gang).run(steps) {
			for _, st := range steps {
				s.see(uint32(st.next.spec.id.Node()), st.next, st.next)
			}
			return true
		}
	}
}

// refuseGang marks the claims that fitted.
func (s *Scheduler) refuseGang(tx *Txn) {
	for _, i := range tx.order {
		if it := &tx.items[i]; !it.release && it.verdict == done {
			it.verdict = gangRefused
		}
	}
}

// build returns the version that old becomes by the items of g, or nil if they
// change nothing, and whether a claim was refused. It is the one place that
// says what fits. Verdicts are final only once the version is in place.
func (s *Scheduler) build(tx *Txn, g group, which parts, old *version, at *slots) (next *version, refused bool) {
	free, live, moved := old.free, old.live, false
	for _, i := range g.items {
		it := &tx.items[i]
		switch {
		case it.release && which.releases:
			var rec *record
			if rec, it.verdict = s.releasable(it.id, old, &live, at); it.verdict == done {
				free = free.Add(rec.need)
				live.set(it.id.slot, false)
				moved = true
			}
		case !it.release && which.claims:
			it.spec, it.verdict = old.spec, s.claimable(tx, it, old)
			if it.verdict == done {
				rest, fits := free.Sub(it.claim.Need)
				switch {
				case !fits:
					it.verdict, it.free = conflict, free
				case !s.place(it, &live, at):
					it.verdict = full
				default:
					free = rest
					live.set(it.id.slot, true)
					moved = true
				}
			}
			refused = refused || it.verdict != done
		}
	}
	if !moved {
		return nil, refused
	}
	return &version{seq: old.seq + 1, spec: old.spec, free: free, live: live, cond: old.cond}, refused
}

// claimable says whether the machine takes a claim at all.
func (s *Scheduler) claimable(tx *Txn, it *item, old *version) verdict {
	switch {
	case old.cond == Removed || old.spec.id != it.claim.Machine:
		return removed
	case old.cond == Draining:
		return draining
	case tx.Coarse && s.snap.seq(it.node()) != old.seq:
		it.free = old.free
		return changed
	}
	return done
}

// place finds a slot for a claim, once: a retry keeps it.
func (s *Scheduler) place(it *item, live *live, at *slots) bool {
	if it.rec != nil {
		return true
	}
	s.last++
	rec := &record{need: it.claim.Need, serial: s.last, owner: s.num, account: it.claim.Account}
	slot, ok := at.reserve(live, rec)
	if !ok {
		return false
	}
	it.rec, it.id = rec, AllocationID{it.node(), slot, s.num, s.cell.tag, rec.serial}
	return true
}

// releasable returns the record of an allocation that is live in the version
// being built and belongs to s, or why it can not be released.
func (s *Scheduler) releasable(a AllocationID, old *version, live *live, at *slots) (*record, verdict) {
	rec := at.get(a.slot)
	switch {
	case rec != nil && rec.is(a) && live.has(a.slot):
		if a.owner != s.num {
			return nil, notOwner
		}
		return rec, done
	case old.cond == Removed:
		return nil, removed
	}
	return nil, notLive
}

// finish empties the slots that this commit made dead or took in vain, and
// counts the grants.
func (s *Scheduler) finish(tx *Txn, g group) (granted int) {
	at := s.cell.slots.at(g.node)
	for _, i := range g.items {
		switch it := &tx.items[i]; {
		case it.release:
			if it.verdict == done {
				at.clear(it.id.slot)
			}
		case it.verdict == done:
			granted++
		case it.rec != nil:
			at.clear(it.id.slot)
			it.rec, it.id = nil, AllocationID{}
		}
	}
	return granted
}

// see tells the scheduler's snapshot, if it has one, what a commit found.
func (s *Scheduler) see(node uint32, raw, val *version) {
	if s.snap != nil {
		s.snap.see(node, raw, val)
	}
}
