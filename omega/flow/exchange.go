package flow

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cellsched/cellsched/omega"
)

// exchange is the transaction of a round: it claims the room that is promised, and releases
// the allocations that have ended.
type exchange[J, T comparable] struct {
	cfg       *Config[T]
	book      *book[J, T]
	fleet     *fleet[J, T]
	promises  *promises[J, T]
	admission *admission[J, T]
	reserver  *reserver[J, T]
	round     *outcome[T]

	mu      *sync.Mutex   // the scheduler's
	attempt omega.Attempt // of the round in progress, with the mutex or without
	phase   phase

	sent     []*hold[J, T] // in the transaction on the way, to be released
	claimed  []*task[J, T] // in the transaction on the way
	late     []*task[J, T] // kept for its memory only
	reserved []*task[J, T] // granted, to be started
	settling func()        // the outcome's effect on reservations, or nil
}

// phase is how far a round is.
//
//	planning ──▶ asking ──▶ planning
//	                 └────▶ asking late ──▶ planning
//
// While a transaction is on the way the mutex is free, and so it is between two rounds if
// the outcome is in doubt. Invariant: exchange.sent and exchange.claimed are the holds and
// the tasks of the transaction. Such a hold belongs to no task. Such a task is promised
// room on task.asked, and only Done may change that: then task.at is nil. Rounds alone
// read the outcome.
type phase uint8

const (
	planning   phase = iota
	asking           // for all of a round
	askingLate       // for claims that a limit refused before the releases had happened
)

// prepare makes the round's transaction. It releases all that has ended, and claims the
// promises for which there is room then. On each machine both take effect in one step, so
// that no other scheduler gets the room that ending tasks leave to ours.
func (ex *exchange[J, T]) prepare(now time.Time) {
	tx := &ex.attempt.Txn
	tx.Reset()
	ex.sent, ex.book.releases = ex.book.releases, ex.sent[:0]
	for _, h := range ex.sent {
		tx.Release(h.id)
	}
	ex.claim()
	if ex.settling = ex.reserver.rereserve(tx, now); tx.Len() > 0 || ex.settling != nil {
		ex.phase = asking
	}
}

// commit sends the transaction, with the mutex free, and applies the outcome, and so for
// a second one with claims that a limit refused. It returns an error if the outcome is in
// doubt: the next round asks again.
func (ex *exchange[J, T]) commit(ctx context.Context, now time.Time) error {
	for ex.phase != planning {
		var err error
		ex.unlocked(func() { _, err = ex.attempt.Commit(ctx, now) })
		switch {
		case ex.attempt.Doubt() > 0:
			return err
		case err != nil:
			ex.failed(err)
		case ex.phase == asking:
			ex.applied()
		default:
			ex.settle()
		}
	}
	return nil
}

// failed takes the transaction back. The tasks of its claims keep the reason.
func (ex *exchange[J, T]) failed(err error) {
	ex.round.fail(err)
	for _, tk := range ex.claimed {
		if tk.asked = nil; tk.at != nil {
			ex.promises.refuse(tk, err)
		}
	}
	ex.book.releases = append(ex.sent, ex.book.releases...)
	ex.sent, ex.settling, ex.phase = nil, nil, planning
	ex.refresh()
}

// unlocked calls f with the mutex free.
func (ex *exchange[J, T]) unlocked(f func()) {
	ex.mu.Unlock()
	defer ex.mu.Lock()
	f()
}

// applied notes the outcome of a transaction.
func (ex *exchange[J, T]) applied() {
	if ex.settling != nil {
		ex.settling()
		ex.settling = nil
	}
	for _, h := range ex.sent {
		ex.book.forget(h)
		ex.promises.enqueue(h.on)
	}
	clear(ex.sent)
	ex.sent = ex.sent[:0]
	claimed, late := ex.claimed, ex.late[:0]
	ex.claimed = ex.claimed[:0]
	for _, tk := range claimed {
		ex.promises.enqueue(tk.asked)
		// The cell keeps a limit at every moment of a commit. So a release on one machine
		// that is claimed, too, does not count for a claim on another. By now all
		// releases have happened, so claims that a limit refused are made again.
		if errors.Is(ex.attempt.Txn.Err(tk.item), omega.ErrLimit) && tk.at != nil {
			late = append(late, tk)
		} else {
			ex.claimed = append(ex.claimed, tk)
		}
	}
	ex.settle()
	ex.late, ex.claimed = ex.claimed[:0], late
	ex.attempt.Txn.Reset()
	for _, tk := range late {
		ex.want(tk)
		ex.phase = askingLate
	}
	if ex.phase == planning {
		ex.refresh()
	}
}

// settle reads the outcomes of the claims.
func (ex *exchange[J, T]) settle() {
	late := ex.phase == askingLate
	ex.phase = planning
	for _, tk := range ex.claimed {
		if id, ok := ex.attempt.Txn.Allocation(tk.item); ok {
			ex.grant(tk, id)
		} else if tk.at != nil {
			ex.conflict(tk, ex.attempt.Txn.Err(tk.item))
		}
		tk.asked = nil
	}
	if late {
		ex.refresh()
	}
}

// refresh reads the machines of a transaction, and checks the promises there.
func (ex *exchange[J, T]) refresh() {
	for _, m := range ex.promises.queue {
		ex.fleet.reread(m)
	}
	ex.promises.recheck(false)
}

// want adds the claim of a task where it is promised room.
func (ex *exchange[J, T]) want(tk *task[J, T]) {
	tk.asked = tk.at
	claim := tk.claim(tk.at)
	claim.Reservation = ex.reserver.reservationOf(tk)
	tk.item = ex.attempt.Txn.Claim(claim)
}

// claim adds claims for tasks that are promised room that is there, once the
// releases of the transaction are done, and which limits leave.
func (ex *exchange[J, T]) claim() {
	claimed := ex.claimed[:0]
	left, may := ex.admission.allowed()
	for _, h := range ex.sent {
		if h.booked {
			left = left.Add(h.need)
		}
	}
	ex.promises.awaiting = filter(ex.promises.awaiting, func(m *machine[J, T]) bool {
		room := m.free.Add(m.releasing)
		for _, tk := range m.promised {
			rest, ok := room.Sub(tk.want.Need)
			if !ok {
				continue // it waits for tasks that leave; the rest is enough for others
			}
			after, within := left.Sub(tk.want.Need)
			if !within || !may {
				tk.refused = ex.admission.overLimit(tk.want.Need, left)
				continue // it waits for tasks that leave, there or elsewhere
			}
			room, left = rest, after
			ex.want(tk)
			claimed = append(claimed, tk)
		}
		m.awaits = len(m.promised) > 0
		return m.awaits
	})
	ex.claimed = claimed
}

// grant notes the allocation of tk. If tk is done by then, the allocation is released.
func (ex *exchange[J, T]) grant(tk *task[J, T], id omega.AllocationID) {
	m := tk.asked
	h := &hold[J, T]{id: id, task: tk, on: m, need: tk.want.Need, booked: true, pos: len(m.holds)}
	m.holds = append(m.holds, h)
	ex.book.held[id] = h
	if tk.at == nil {
		ex.book.free(h)
		return
	}
	tk.next = h
	m.settle(tk)
	if !tk.reserved {
		tk.reserved = true
		ex.reserved = append(ex.reserved, tk)
	}
}

// conflict notes that tk was refused. A machine that the scheduler may not claim
// is left alone until it may.
func (ex *exchange[J, T]) conflict(tk *task[J, T], why error) {
	ex.round.report.Conflicts++
	ex.round.refused.Refuse(omega.Reason(why), 1)
	if ex.cfg.Events.Active() {
		ex.round.conflicts = append(ex.round.conflicts, conflict[T]{tk.key, tk.asked.id, why})
	}
	// Add has checked the precedence, so it is the machine; its mask may have changed
	// since.
	if m := tk.at; errors.Is(why, omega.ErrForbidden) && !m.forbidden && !mayClaim(ex.cfg.Scheduler.Snapshot(), m.node) {
		m.forbidden = true
		ex.fleet.forbidden = append(ex.fleet.forbidden, m)
	}
	ex.promises.refuse(tk, why)
}

// start starts tasks that have their allocation and have ended where they ran before. A
// preempted task that may still be there delays its successor.
func (ex *exchange[J, T]) start(now time.Time) {
	ex.reserved = filter(ex.reserved, func(tk *task[J, T]) bool {
		tk.reserved = tk.next != nil && (tk.run != nil || !ex.ready(tk.next.id, now))
		if tk.next == nil || tk.reserved {
			return tk.reserved
		}
		tk.run, tk.next = tk.next, nil
		tk.waited += ex.book.now - tk.since
		tk.started, tk.exact, tk.refused = ex.book.now, false, nil
		ex.round.report.Start = append(ex.round.report.Start, Start[T]{Task: tk.key, Machine: tk.at.id, Allocation: tk.run.id})
		if tk.assured || tk.planned != ex.book.now {
			tk.assured = false
			ex.book.ask(tk) // it has not run since it was placed, or cannot wait
		}
		return false
	})
}

// ready reports whether an allocation may start.
func (ex *exchange[J, T]) ready(id omega.AllocationID, now time.Time) bool {
	at, err := ex.cfg.Cell.ReadyAt(id)
	if err != nil || !at.After(now) {
		return true // lost ones are noticed in the next round
	}
	if ex.round.report.Next.IsZero() || at.Before(ex.round.report.Next) {
		ex.round.report.Next = at
	}
	return false
}
