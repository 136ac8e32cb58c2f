package flow

import (
	"context"
	"errors"
	"time"

	"github.com/cellsched/cellsched/omega"
)

// phase is how far a round is.
//
//	planning ──▶ asking ──▶ planning
//	                 └────▶ asking late ──▶ planning
//
// While a transaction is on the way the mutex is free, and so it is between two rounds if
// the outcome is in doubt. Invariant: the holds in Scheduler.sent and the tasks in
// Scheduler.claimed are those of the transaction. Such a hold belongs to no task. Such a
// task is promised room on task.asked, and only Done may change that: then task.at is nil.
// Rounds alone read the outcome.
type phase uint8

const (
	planning   phase = iota
	asking           // for all of a round
	askingLate       // for what a limit refused before the releases had happened
)

// prepare makes the round's transaction: all that has ended is released, and of
// what is promised that is claimed for which there is room then. On each machine
// both take effect in one step, so that nobody else gets what ours leave to ours.
func (s *Scheduler[J, T]) prepare(now time.Time) {
	tx := &s.attempt.Txn
	tx.Reset()
	s.sent, s.releases = s.releases, s.sent[:0]
	for _, h := range s.sent {
		tx.Release(h.id)
	}
	s.claim()
	if s.settling = s.rereserve(now); tx.Len() > 0 || s.settling != nil {
		s.phase = asking
	}
}

// commit sends the transaction, with the mutex free, and applies the outcome, and so for
// a second one with claims that a limit refused. It returns an error if the outcome is in
// doubt: the next round asks again.
func (s *Scheduler[J, T]) commit(ctx context.Context, now time.Time) error {
	for s.phase != planning {
		var err error
		s.unlocked(func() { _, err = s.attempt.Commit(ctx, now) })
		switch {
		case s.attempt.Doubt() > 0:
			return err
		case err != nil:
			s.failed(err)
		case s.phase == asking:
			s.applied()
		default:
			s.settle()
		}
	}
	return nil
}

// failed takes the transaction back: those that are claimed for know why they have no room.
func (s *Scheduler[J, T]) failed(err error) {
	s.errs = append(s.errs, err)
	for _, tk := range s.claimed {
		if tk.asked = nil; tk.at != nil {
			s.refuse(tk, err)
		}
	}
	s.releases = append(s.sent, s.releases...)
	s.sent, s.settling, s.phase = nil, nil, planning
	s.refresh()
}

// unlocked calls f with the mutex free.
func (s *Scheduler[J, T]) unlocked(f func()) {
	s.mu.Unlock()
	defer s.mu.Lock()
	f()
}

// applied notes what a transaction has done. The cell keeps a limit at
// every moment of a commit, so a release on one machine that is claimed, too, does
// not count for a claim on another. By now all releases have happened, so claims that a
// limit refused are made again.
func (s *Scheduler[J, T]) applied() {
	if s.settling != nil {
		s.settling()
		s.settling = nil
	}
	for _, h := range s.sent {
		s.forget(h)
		s.enqueue(h.on)
	}
	clear(s.sent)
	s.sent = s.sent[:0]
	claimed, late := s.claimed, s.late[:0]
	s.claimed = s.claimed[:0]
	for _, tk := range claimed {
		s.enqueue(tk.asked)
		if errors.Is(s.attempt.Txn.Err(tk.item), omega.ErrLimit) && tk.at != nil {
			late = append(late, tk)
		} else {
			s.claimed = append(s.claimed, tk)
		}
	}
	s.settle()
	s.late, s.claimed = s.claimed[:0], late
	s.attempt.Txn.Reset()
	for _, tk := range late {
		s.want(tk)
		s.phase = askingLate
	}
	if s.phase == planning {
		s.refresh()
	}
}

// settle reads what became of the claims.
func (s *Scheduler[J, T]) settle() {
	late := s.phase == askingLate
	s.phase = planning
	for _, tk := range s.claimed {
		if id, ok := s.attempt.Txn.Allocation(tk.item); ok {
			s.grant(tk, id)
		} else if tk.at != nil {
			s.conflict(tk, s.attempt.Txn.Err(tk.item))
		}
		tk.asked = nil
	}
	if late {
		s.refresh()
	}
}

// refresh looks at the machines of a transaction, and checks what is promised there.
func (s *Scheduler[J, T]) refresh() {
	for _, m := range s.queue {
		s.again(m)
	}
	s.recheck(false)
}

// want adds the claim of a task where it is promised room.
func (s *Scheduler[J, T]) want(tk *task[J, T]) {
	tk.asked = tk.at
	claim := tk.claim(tk.at)
	claim.Reservation = s.reservationOf(tk)
	tk.item = s.attempt.Txn.Claim(claim)
}

// claim adds claims for tasks that are promised room that is there, once the
// releases of the transaction are done, and which limits leave.
func (s *Scheduler[J, T]) claim() {
	claimed := s.claimed[:0]
	left, may := s.allowed()
	for _, h := range s.sent {
		if h.booked {
			left = left.Add(h.need)
		}
	}
	s.awaiting = filter(s.awaiting, func(m *machine[J, T]) bool {
		room := m.free.Add(m.releasing)
		for _, tk := range m.promised {
			rest, ok := room.Sub(tk.want.Need)
			if !ok {
				continue // it waits for who is leaving; what is left for others is enough
			}
			after, within := left.Sub(tk.want.Need)
			if !within || !may {
				tk.refused = s.overLimit(tk.want.Need, left)
				continue // it waits for who is leaving, there or elsewhere
			}
			room, left = rest, after
			s.want(tk)
			claimed = append(claimed, tk)
		}
		m.awaits = len(m.promised) > 0
		return m.awaits
	})
	s.claimed = claimed
}

// grant notes that tk has got what it was promised. A task that is done by then gives it
// back.
func (s *Scheduler[J, T]) grant(tk *task[J, T], id omega.AllocationID) {
	m := tk.asked
	h := &hold[J, T]{id: id, task: tk, on: m, need: tk.want.Need, booked: true, pos: len(m.holds)}
	m.holds = append(m.holds, h)
	s.held[id] = h
	if tk.at == nil {
		s.free(h)
		return
	}
	tk.next = h
	m.settle(tk)
	if !tk.reserved {
		tk.reserved = true
		s.reserved = append(s.reserved, tk)
	}
}

// conflict notes that tk was refused. A machine that the scheduler may not claim
// is left alone until it may.
func (s *Scheduler[J, T]) conflict(tk *task[J, T], why error) {
	s.report.Conflicts++
	// Add has checked the precedence, so it is the machine; its mask may have changed
	// since.
	if m := tk.at; errors.Is(why, omega.ErrForbidden) && !m.barred && !may(s.cfg.Scheduler.Snapshot(), m.node) {
		m.barred = true
		s.barred = append(s.barred, m)
	}
	s.refuse(tk, why)
}

// again looks at m after a commit, which the next refresh does not tell of.
func (s *Scheduler[J, T]) again(m *machine[J, T]) {
	s.touch(m)
	if st, ok := s.cfg.Cell.State(m.id); ok {
		m.free, m.cond = m.freeIn(s.cfg.Scheduler.Snapshot(), st.Free), st.Condition
	} else {
		s.resync = true
	}
}

// stop tells those to stop who leave where they run.
func (s *Scheduler[J, T]) stop() {
	for _, tk := range s.going {
		if !tk.going {
			continue // it stays
		}
		tk.going = false
		reason := Preempted
		if tk.at != nil {
			reason = Moved
		}
		s.report.Stop = append(s.report.Stop, Stop[T]{Task: tk.key, Machine: tk.run.on.id, Reason: reason})
	}
	clear(s.going)
	s.going = s.going[:0]
}

// start starts those who have what they need, have ended where they ran before,
// and follow nobody who was preempted and may still be there.
func (s *Scheduler[J, T]) start(now time.Time) {
	s.reserved = filter(s.reserved, func(tk *task[J, T]) bool {
		tk.reserved = tk.next != nil && (tk.run != nil || !s.ready(tk.next.id, now))
		if tk.next == nil || tk.reserved {
			return tk.reserved
		}
		tk.run, tk.next = tk.next, nil
		tk.waited += s.now - tk.since
		tk.started, tk.exact, tk.refused = s.now, false, nil
		s.report.Start = append(s.report.Start, Start[T]{Task: tk.key, Machine: tk.at.id, Allocation: tk.run.id})
		if tk.sure || tk.planned != s.now {
			tk.sure = false
			s.ask(tk) // it has not run since it was placed, or cannot wait
		}
		return false
	})
}

// ready reports whether an allocation may start.
func (s *Scheduler[J, T]) ready(id omega.AllocationID, now time.Time) bool {
	at, err := s.cfg.Cell.ReadyAt(id)
	if err != nil || !at.After(now) {
		return true // lost ones are noticed in the next round
	}
	if s.report.Next.IsZero() || at.Before(s.report.Next) {
		s.report.Next = at
	}
	return false
}
