package federation

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cellsched/cellsched/omega"
)

// work is one thing to commit: a release, or a batch from one launch on.
type work struct {
	release omega.AllocationID
	batch   *ask
	from    int                // of batch: launches before this one are decided
	raised  omega.AllocationID // that is to be exchanged for one of lower precedence
	answer  answer
}

// Step commits the received work at now: releases, and the launches that still fit, batch
// by batch. It tells Local.Notify of the tasks that start or stop, and returns the
// messages to send in their order. Next is when it is to be called again at the latest.
//
// Errors are the store's; a later step commits the same work again. omega.ErrOutcome reports
// that the store cannot tell the outcome of a commit yet. An error that wraps [ErrSuperseded]
// or [omega.ErrJournal] is for good. The messages are to be sent whatever the error.
func (v *Verifier) Step(ctx context.Context, now time.Time) (out []Message, next time.Time, err error) {
	if v == nil {
		return nil, time.Time{}, absent("verifier")
	}
	v.mu.Lock()
	inbox, over := v.inbox, v.over
	v.inbox, v.over = nil, nil
	v.mu.Unlock()
	for i := range inbox {
		v.asked(inbox[i].ask)
	}
	for _, f := range over {
		v.finish(f)
	}
	err = v.commit(ctx, now)
	v.marked()
	if len(v.queue) > 0 && err == nil {
		err = v.commit(ctx, now) // releases of tasks lost with a machine
	}
	if errors.Is(err, omega.ErrSuperseded) || errors.Is(err, omega.ErrLeft) {
		return nil, time.Time{}, errors.Join(ErrSuperseded, err)
	}
	full := v.beat.IsZero() || !now.Before(v.beat)
	if full {
		v.beat = now.Add(v.local.Heartbeat)
	}
	if (full || v.listing) && v.attempt.Doubt() == 0 {
		if _, e := v.attempt.Store.Refresh(ctx, now, nil); e != nil {
			err = errors.Join(err, e)
		}
	}
	return v.messages(full), v.beat, err
}

// asked follows a request: see the package comment for the rules.
func (v *Verifier) asked(a *ask) {
	if a.Epoch < v.epoch {
		return
	}
	if a.Epoch > v.epoch {
		v.mu.Lock()
		v.epoch = a.Epoch
		v.mu.Unlock()
		v.settled, v.listing = 0, true
		clear(v.answers)
		v.verdicts = v.verdicts[:0]
	}
	if a.Incarnation != v.incarnation() {
		v.listing = true
		return
	}
	v.acknowledge(a.Heard)
	if a.Settled > v.settled {
		v.settled = a.Settled
		for n := range v.answers {
			if n <= v.settled {
				delete(v.answers, n)
			}
		}
	}
	if a.Number <= v.settled {
		return
	}
	if had, ok := v.answers[a.Number]; ok {
		if had.Granted != nil { // nil: the commit is in progress
			v.verdicts = append(v.verdicts, had)
			for i := range a.Launches {
				v.states.touch(a.Launches[i].Machine)
			}
		}
		return
	}
	v.forget(a.Launches)
	v.answers[a.Number] = answer{}
	v.queue = append(v.queue, work{batch: a, answer: answer{Number: a.Number, Granted: make([]omega.AllocationID, 0, len(a.Launches))}})
}

// incarnation is that of the verifier: 1 for the first.
func (v *Verifier) incarnation() uint64 { return v.local.Scheduler.Epoch() + 1 }

// finish queues the release of a task that does not run any more.
func (v *Verifier) finish(f finished) {
	v.mu.Lock()
	r := v.tasks[f.task]
	v.mu.Unlock()
	if r == nil || r.Kind == Ended || r.Allocation != f.allocation {
		return // of two calls one counts
	}
	v.queue = append(v.queue, work{release: r.Allocation})
	v.end(r, f.complete)
}

// end notes that a task has ended or was stopped, and has the global master told.
func (v *Verifier) end(r *record, complete bool) {
	delete(v.byID, r.Allocation)
	v.mu.Lock()
	if r.Kind = Returned; complete {
		r.Kind = Ended
	} else {
		delete(v.tasks, r.Task)
	}
	v.mu.Unlock()
	v.tell(r.Event)
	v.notify(r)
}

// notify has the global master told of a task, until it acknowledges that.
func (v *Verifier) notify(r *record) {
	v.noticed++
	v.notices = append(v.notices, notice{v.noticed, r.Event})
	v.untold++
}

func (v *Verifier) tell(e Event) {
	if v.local.Notify != nil {
		v.local.Notify(e)
	}
}

// marked follows preempted allocations, and those lost with their machines.
func (v *Verifier) marked() {
	for m := range v.local.Scheduler.Marked() {
		r := v.byID[m.Allocation.ID]
		switch {
		case r == nil:
			if !slices.ContainsFunc(v.queue, func(w work) bool { return w.release == m.Allocation.ID }) {
				v.queue = append(v.queue, work{release: m.Allocation.ID})
			}
		case m.Fate == omega.Lost:
			v.queue = append(v.queue, work{release: r.Allocation})
			v.end(r, false)
		case !r.stopping:
			r.stopping = true
			e := r.Event
			e.Kind = Stopping
			v.tell(e)
		}
	}
}

// commit commits the queue in its order: neighbouring releases together, then of a batch
// the launches up to the next gang, or a gang.
func (v *Verifier) commit(ctx context.Context, now time.Time) error {
	for len(v.queue) > 0 {
		w := &v.queue[0]
		if w.batch == nil {
			n := 1
			for n < len(v.queue) && v.queue[n].batch == nil {
				n++
			}
			if err := v.release(ctx, now, n); err != nil {
				return err
			}
			continue
		}
		// For a global master that was replaced, only a commit in doubt goes on.
		for w.from < len(w.batch.Launches) && (w.batch.Epoch == v.epoch || v.attempt.Doubt() > 0 || w.raised != (omega.AllocationID{})) {
			if err := v.grant(ctx, now, w); err != nil {
				return err
			}
		}
		if w.batch.Epoch == v.epoch {
			v.answers[w.batch.Number] = w.answer
			v.verdicts = append(v.verdicts, w.answer)
		}
		v.queue = v.queue[1:]
	}
	v.queue = nil
	return nil
}

// release gives back the first n allocations of the queue, or those that a commit in doubt
// has asked for, and takes them out of the queue.
func (v *Verifier) release(ctx context.Context, now time.Time, n int) error {
	tx := &v.attempt.Txn
	if v.attempt.Doubt() == 0 {
		if _, err := v.attempt.Begin(ctx, now); err != nil {
			return err
		}
		tx.Gang = false
		for i := range n {
			tx.Release(v.queue[i].release)
		}
	}
	n = tx.Len()
	if _, err := v.attempt.Commit(ctx, now); err != nil {
		return err
	}
	for i := range n {
		v.states.touchNode(int(v.queue[i].release.Node()))
	}
	v.queue = v.queue[n:]
	return nil
}

// grant commits launches of a batch, from the first that is not decided on.
func (v *Verifier) grant(ctx context.Context, now time.Time, w *work) error {
	if w.batch.Launches[w.from].Seek != nil {
		return v.preempt(ctx, now, w)
	}
	tx := &v.attempt.Txn
	to := w.upto()
	if v.attempt.Doubt() == 0 {
		if _, err := v.attempt.Begin(ctx, now); err != nil {
			return err
		}
		if err := v.accounts(ctx, w.batch.Launches[w.from:to]); err != nil {
			return err
		}
		v.claims(ctx, w.batch.Launches[w.from:to])
	}
	_, err := v.attempt.Commit(ctx, now)
	if v.undecided(ctx, err) {
		return err
	}
	for i := w.from; i < to; i++ { // any other error has changed nothing, and so is a refusal
		l, item := &w.batch.Launches[i], v.items[i-w.from]
		id, why := omega.AllocationID{}, item
		if r := v.known(l.Task); r != nil {
			id = r.Allocation
		} else if item < 0 {
			why = -item
		} else if err != nil {
			why = refusedJob
		} else if granted, ok := tx.Allocation(item); ok {
			id = granted
			v.start(l, id)
		} else {
			why = reason(tx.Err(item))
		}
		if id != (omega.AllocationID{}) {
			why = refusedRoom
		}
		w.answer.Granted = append(w.answer.Granted, id)
		w.answer.Why = append(w.answer.Why, why)
		v.states.touch(l.Machine)
	}
	w.from = to
	return nil
}

// undecided reports whether launches are committed again by a later step: their commit is in
// doubt, or has failed for a reason that is not in them.
func (v *Verifier) undecided(ctx context.Context, err error) bool {
	return v.attempt.Doubt() > 0 || err != nil && ctx.Err() != nil ||
		errors.Is(err, omega.ErrSuperseded) || errors.Is(err, omega.ErrLeft) || errors.Is(err, omega.ErrJournal)
}

// accounts has the cell make the accounts that launches name, since that may wait for its
// journal. Errors: those of the journal. A launch with a name that the cell refuses is refused
// later.
func (v *Verifier) accounts(ctx context.Context, launches []launch) error {
	for i := range launches {
		l := &launches[i]
		if _, err := v.cell.Account(ctx, l.User); err != nil && !errors.Is(err, omega.ErrName) {
			return err
		}
		for n := 0; l.Seek != nil && n < len(l.Seek.Users); n++ {
			if _, err := v.cell.Account(ctx, l.Seek.Users[n].User); err != nil && !errors.Is(err, omega.ErrName) {
				return err
			}
		}
	}
	return nil
}

// claims adds the claims of launches to the transaction, and notes their numbers there. For
// a launch that cannot be claimed, or is known already, it notes the negative reason. A gang
// with such a launch is not claimed at all.
func (v *Verifier) claims(ctx context.Context, launches []launch) {
	tx := &v.attempt.Txn
	tx.Gang, tx.Detect = launches[0].Gang != 0, omega.Fine
	v.items = v.items[:0]
	for i := range launches {
		l := &launches[i]
		c, why := v.claim(ctx, l)
		if l.Described != 0 {
			tx.Detect = omega.Coarse // of attributes that change before the commit as well
		}
		if why == refusedRoom && v.known(l.Task) == nil {
			v.items = append(v.items, tx.Claim(c))
			continue
		}
		why = max(why, refusedGang)
		if tx.Gang {
			tx.Reset()
			v.items = v.items[:0]
			for range launches {
				v.items = append(v.items, -refusedGang)
			}
			v.items[i] = -why
			return
		}
		v.items = append(v.items, -why)
	}
}

// claim returns the claim of a launch. For a launch that a commit would fail with it returns
// a reason other than refusedRoom.
func (v *Verifier) claim(ctx context.Context, l *launch) (c omega.Claim, why int) {
	m, ok := v.cell.State(l.Machine)
	if !ok {
		return c, refusedMachine
	}
	if l.Described != 0 {
		if v.states.see(m); v.states.machines[m.ID.Node()].Described != l.Described {
			return c, refusedAttributes // the global master has not heard whether they meet the requirements
		}
	}
	account, err := v.cell.Account(ctx, l.User)
	if err != nil || l.Need.CheckNeed() != nil {
		return c, refusedJob
	}
	return omega.Claim{Machine: l.Machine, Account: account, Need: l.Need, Precedence: l.Precedence}, refusedRoom
}

// known returns the record of a task, nil if it does not run here.
func (v *Verifier) known(t Task) *record {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.tasks[t]
}

// start notes that a task was granted its room.
func (v *Verifier) start(l *launch, id omega.AllocationID) {
	r := &record{Event: Event{l.Task, Started, v.local.Name, id}}
	v.byID[id] = r
	v.mu.Lock()
	v.tasks[l.Task] = r
	v.mu.Unlock()
	v.tell(r.Event)
}

// reason returns why a claim was refused, as answer.Why has it.
func reason(err error) int {
	item, ok := errors.AsType[*omega.RefusalError](err)
	switch {
	case ok && item.Stale():
		return refusedRoom
	case errors.Is(err, omega.ErrGang):
		return refusedGang
	case ok && (errors.Is(err, omega.ErrForbidden) && item.Permitted == nil || errors.Is(err, omega.ErrLimit)):
		return refusedJob
	}
	return refusedMachine
}

// upto returns the end of the launches that are committed together.
func (w *work) upto() int {
	all := w.batch.Launches
	to, gang := w.from+1, all[w.from].Gang
	for to < len(all) && all[to].Gang == gang && all[to].Seek == nil {
		to++
	}
	return to
}
