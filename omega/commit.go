package omega

import (
	"context"
	"errors"

	"github.com/cellsched/cellsched/resources"
)

// Commit sends tx to the cell and returns how many of its claims were granted: of an
// incremental transaction those that fit, machine by machine, of a gang all or none. tx
// holds the outcome of each item afterwards ([Txn.Err], [Txn.Allocation]). [Attempt]
// refreshes, commits and counts for a scheduler that tries again.
//
// A refused claim is a result. An error is about the call, and nothing has changed then:
//
//   - [ErrTxn], [resources.ErrNil] for a nil tx;
//   - [ErrUnknown] machine, account or grantee, [resources.ErrQuantity];
//   - [ErrLimit] for a gang that is too wide;
//   - [ErrTxn];
//   - [ErrBusy] while another goroutine commits or waits with the scheduler;
//   - [ErrSuperseded], [ErrLeft].
//
// It is lock-free but for the three cases of the package comment, and not wait-free: it
// retries for every commit that changed the same machine meanwhile, or any machine of a
// gang. It linearizes machine by machine at the swap of the word, a gang at one swap for
// all.
//
// Cost: O(items log items), O(items) in machine order, O(claims × items) with a limit of
// what the scheduler may hold. Heap objects:
//
//   - one for each machine, unless the scheduler has a spare version, of up to 1,024
//     that its commits have replaced and no other goroutine has read;
//   - three for each attempt of a gang;
//   - one for a claim that waits for victims, or that needs three kinds or more with
//     2^42 or more of one, or more kinds than the cell has slots for ([Config.Space])
//     with 2^32 or more of one;
//   - now and then a few for a machine that has, or once had, more than 192
//     allocations.
func (s *Scheduler) Commit(tx *Txn) (granted int, err error) {
	return s.CommitContext(context.Background(), tx) // inlined into callers
}

// commit is Commit for the goroutine that has made the scheduler busy.
func (s *Scheduler) commit(tx *Txn) (granted int, err error) {
	if !tx.begin() {
		return 0, errCommitted
	}
	if err = tx.check(s); err == nil && s.superseded() {
		err = s.supersededError()
	}
	if err != nil {
		tx.reopen()
		s.Pass()
		return 0, err
	}
	s.note(tx)
	granted = s.apply(tx)
	s.show(tx)
	s.counts.note(tx, granted)
	tx.end()
	if s.token.valid {
		s.Pass()
	}
	return granted, nil
}

// apply changes the cell by tx and returns how many claims it granted.
//
// It is the part of Commit that does not belong to the caller's goroutine. It neither
// reads nor changes the scheduler's snapshot, its busy word or the token that it holds.
// note has put into tx the parts of the snapshot that apply needs. apply puts into tx,
// for show, the versions of machines that it saw. One apply of a scheduler is in progress
// at a time.
func (s *Scheduler) apply(tx *Txn) (granted int) {
	tx.cell, tx.shape = s.cell, anyShape
	switch {
	case len(tx.reserves) > 0:
	case tx.plain():
		if s.applyPlain(tx) {
			return 1
		}
	case len(tx.items) > 1:
		if tx.look(); tx.shape == releasesApart && !tx.Gang {
			s.applyReleases(tx)
			return 0
		}
	case tx.items[0].kind == releaseItem && s.applyRelease(tx):
		return 0
	}
	return s.applyAny(tx)
}

// applyAny is apply for any transaction. It alone records why it refuses a claim.
func (s *Scheduler) applyAny(tx *Txn) (granted int) {
	if tx.preempts {
		s.owner.preempting.Add(1)
		defer s.owner.preempting.Add(-1)
	}

	if tx.ends {
		s.endReservations(tx)
	}
	ready := s.prepare(tx)
	if len(tx.order) >= touched {
		s.touch(tx)
	}
	tx.sort()
	if s.owner.held != nil && !tx.Gang {
		// So the limit does not count allocations that are released on other machines.
		tx.releasesFirst()
	}
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
	if tx.settles || len(tx.reserves) > 0 {
		s.settleReservations(tx)
		tx.settles = false
	}
	return granted
}

// Release gives back one allocation, or acknowledges that it was preempted or lost. Any
// goroutine may call it at any time, such as the one that runs the work: it does not
// touch the snapshot. It succeeds even if a grantee exchanges the allocation at the same
// time. It is lock-free, except where a scheduler waits for room. Errors: a
// [RefusalError] with [ErrReleased] or [ErrNotOwner]; [ErrSuperseded].
func (s *Scheduler) Release(a AllocationID) error {
	if s.none() {
		return absent("scheduler")
	}
	if s.cell.journal == nil || a == (AllocationID{}) || s.superseded() {
		return s.release(a) // those that no journal needs to be asked about are refused
	}
	return s.cell.through(context.Background(), &Operation{kind: releaseOp, scheduler: s, allocation: a})
}

// ReleaseLater releases allocations for a caller that must not wait, say under a mutex.
// later reports that the cell has a journal: the releases then happen once the journal
// has them, before anything that the caller sends afterwards. err is [ErrSuperseded], an
// error of a journal that refuses at once, or nil; other errors are lost.
func (s *Scheduler) ReleaseLater(ids ...AllocationID) (later bool, err error) {
	if s.none() {
		return false, absent("scheduler")
	}
	c := s.cell
	if later = c.journal != nil; later && s.superseded() {
		return later, s.supersededError()
	}
	for _, a := range ids {
		if !later {
			if bad := s.release(a); bad != nil {
				err = errors.Join(err, bad)
			}
			continue
		}
		op := &Operation{kind: releaseOp, cell: c, scheduler: s, allocation: a, done: make(chan struct{}, 1)}
		op.encode()
		c.journal.Append(op)
		select {
		case <-op.done: // failed, or applied by a journal that does so at once
			if !errors.Is(op.err, ErrReleased) && !errors.Is(op.err, ErrNotOwner) {
				err = errors.Join(err, op.err)
			}
		default:
		}
	}
	return later, err
}

// release is Release for a scheduler that a cell has made.
func (s *Scheduler) release(a AllocationID) error {
	c := s.cell
	if s.superseded() {
		return s.supersededError()
	}
	if a.node() < c.nodes.Load() {
		// For the caches alone. The swap that takes the right to release waits for
		// the slot, and so does every read after it. The machine, which often is in
		// no cache either, is loaded meanwhile.
		c.words.at(a.node()).Peek().Touch()
	}
	var need resources.Vector
	own, t, v := s.releasable(a, &need)
	if v != done {
		e := &RefusalError{Release: true, Allocation: a, Reason: reasons[v], abroad: c.foreign(a), Space: c.space}
		if v == notOwner {
			e.owner = t.owner.name
		}
		return e
	}
	w := c.words.at(a.node())
	for {
		raw, old := settle(w)
		if !old.live.has(a.slot()) {
			c.acknowledge(a) // preempted, lost or exchanged
			break
		}
		next := c.nextVersion(old, c.present())
		next.V.addRoom(&need)
		next.V.live.toggle(a.slot())
		c.opening(a.node())
		swapped := w.CompareAndSwap(raw, next)
		c.closed(a.node())
		if swapped {
			t.sub(&need)
			break
		}
	}
	c.table(a.node()).vacate(a.slot(), own, a.seq)
	c.wake(a.node())
	return nil
}

// releasable takes the right to release an allocation of the scheduler. It returns the
// slot of the allocation, its need and its tally, or the verdict that prevents the
// release. The tally is returned too for an allocation that is not the scheduler's.
func (s *Scheduler) releasable(a AllocationID, need *resources.Vector) (slot, *tally, verdict) {
	if !s.cell.may(a) {
		return nil, nil, notLive
	}
	return s.cell.table(a.node()).release(a, s.owner, need)
}

// parts selects the items of a group that a commit applies.
type parts struct{ releases, claims bool }

// commitOne applies the items of one machine in one step. The swap is the linearization
// point. The loop repeats only if another commit succeeded.
func (s *Scheduler) commitOne(tx *Txn, g group, which parts) {
	c := s.cell
	w, at := c.words.at(g.node), c.table(g.node)
	for {
		raw, old := settleFor(w, s.maker.Number())
		if which.claims && s.superseded() {
			s.refuseSuperseded(tx, g)
			which.claims = false // a release that was begun is ended
		}
		next := s.maker.Spare()
		if next == nil {
			next = s.objectFor(old)
		}
		if moved, _ := s.build(tx, g, which, old, at, &next.V); !moved {
			// A group that changes nothing linearizes where settleFor loaded the word.
			s.giveBack(next)
			tx.saw(g.node, raw, old, old, nil)
			return
		}
		c.opening(g.node)
		swapped := w.CompareAndSwap(raw, next)
		c.closed(g.node)
		if swapped {
			tx.saw(g.node, next, old, &next.V, used(raw, old, &next.V))
			return
		}
		s.giveBack(next)
		// Lost the race, not necessarily the room: look again before calling
		// it a conflict.
		tx.retries++
	}
}

// commitGang applies all items in one step over all machines. It returns false if a claim
// was refused, and then has applied none. It repeats only if another commit changed one
// of the machines, or a cut began.
func (s *Scheduler) commitGang(tx *Txn) bool {
	c := s.cell
	both := parts{releases: true, claims: true}
	for {
		// Steps are fresh each time: a helper may still be reading the last.
		// All versions of one try are of one epoch, and all words were read in
		// it: a cut takes all of them or none.
		epoch := c.present()
		var steps []step
		refused, sights := false, len(tx.sights)
		for left := tx.order; len(left) > 0; {
			var g group
			if tx.shape == claimsApart {
				g, left = group{tx.items[left[0]].node(), left[:1]}, left[1:]
			} else {
				g, left = tx.nextGroup(left)
			}
			w, at := c.words.at(g.node), c.table(g.node)
			raw, old := settleFor(w, s.maker.Number())
			next := s.maker.Spare()
			if next == nil {
				next = s.objectFor(old)
			}
			var moved, no bool
			if tx.shape == claimsApart && old.rare == nil {
				next.V.follow(old)
				moved = s.buildPlain(tx, &tx.items[g.items[0]], old, at, &next.V)
				no = !moved
			} else {
				moved, no = s.build(tx, g, both, old, at, &next.V)
			}
			refused = refused || no
			if !moved {
				s.giveBack(next)
				tx.saw(g.node, raw, old, old, nil)
			} else {
				if steps == nil {
					steps = make([]step, 0, len(tx.order))
				}
				expect := raw
				if &raw.V != old {
					expect = raw.V.prev.Keep() // raw is of a gang that failed
				}
				steps = append(steps, step{}) // field by field: see saw
				st := &steps[len(steps)-1]
				st.word, st.expect, st.next = w, expect, next
				tx.saw(g.node, next, &expect.V, &next.V, used(raw, &expect.V, &next.V)) // if the gang is granted
			}
		}
		if s.superseded() {
			for left := tx.order; len(left) > 0; {
				var g group
				g, left = tx.nextGroup(left)
				s.refuseSuperseded(tx, g)
			}
			s.unused(steps)
			tx.unsee(sights)
			return false
		}
		if refused {
			s.unused(steps)
			tx.unsee(sights)
			return false // Commit sees each machine again
		}
		if c.present() != epoch {
			s.unused(steps)
			tx.unsee(sights)
			continue
		}
		for i := range tx.sights[sights:] {
			c.opening(tx.sights[sights+i].node)
		}
		swapped := len(steps) == 0 || new(gang).run(steps, s.maker.Number())
		for i := range tx.sights[sights:] {
			c.closed(tx.sights[sights+i].node)
		}
		if swapped {
			return true
		}
		tx.unsee(sights)
		tx.retries++
	}
}

// unused gives the versions of a gang back that was not tried.
func (s *Scheduler) unused(steps []step) {
	for i := range steps {
		s.giveBack(steps[i].next)
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
