package flow

import (
	"context"
	"errors"
	"time"

	"github.com/cellsched/cellsched/omega"
)

// commit sends the round's transaction: all that has ended is released, and of
// what is promised that is claimed for which there is room then. On each machine
// both take effect in one step, so that nobody else gets what ours leave to ours.
func (s *Scheduler[J, T]) commit(ctx context.Context, now time.Time) {
	tx := &s.attempt.Txn
	tx.Reset()
	for _, h := range s.releases {
		tx.Release(h.id)
	}
	claimed := s.claim()
	settle := s.rereserve(now)
	if tx.Len() == 0 && settle == nil {
		return
	}
	if !s.send(ctx, now, claimed) {
		s.recheck(false)
		return
	}
	if settle != nil {
		settle()
	}
	for _, h := range s.releases {
		s.forget(h)
		s.enqueue(h.on)
	}
	clear(s.releases)
	s.releases = s.releases[:0]
	late := claimed[:0]
	for _, tk := range claimed {
		s.enqueue(tk.at)
		if errors.Is(tx.Err(tk.item), omega.ErrLimit) {
			late = append(late, tk)
		} else {
			s.settle(tk)
		}
	}
	s.claimLate(ctx, now, late)
	for _, m := range s.queue {
		s.again(m)
	}
	s.recheck(false)
}

// claimLate commits claims again that a limit refused. The cell keeps a limit at
// every moment of a commit, so a release on one machine that is claimed, too, does
// not count for a claim on another. By now all releases have happened.
func (s *Scheduler[J, T]) claimLate(ctx context.Context, now time.Time, late []*task[J, T]) {
	if len(late) == 0 {
		return
	}
	s.attempt.Txn.Reset()
	for _, tk := range late {
		s.want(tk)
	}
	if s.send(ctx, now, late) {
		for _, tk := range late {
			s.settle(tk)
		}
	}
}

// want adds the claim of a task where it is promised room.
func (s *Scheduler[J, T]) want(tk *task[J, T]) {
	claim := tk.claim(tk.at)
	claim.Reservation = s.reservationOf(tk)
	tk.item = s.attempt.Txn.Claim(claim)
}

// send commits the transaction, and reports whether it has an outcome. Else the tasks
// that are claimed for know why they have no room.
func (s *Scheduler[J, T]) send(ctx context.Context, now time.Time, claimed []*task[J, T]) bool {
	_, err := s.attempt.Commit(ctx, now)
	if err == nil {
		return true
	}
	s.errs = append(s.errs, err)
	for _, tk := range claimed {
		s.refuse(tk, err)
	}
	return false
}

// settle reads what became of the claim of a task.
func (s *Scheduler[J, T]) settle(tk *task[J, T]) {
	if id, ok := s.attempt.Txn.Allocation(tk.item); ok {
		s.grant(tk, id)
	} else {
		s.conflict(tk, s.attempt.Txn.Err(tk.item))
	}
}

// claim adds claims for those who are promised room that is there, once the
// releases of the transaction are done, and which limits leave, and returns them.
func (s *Scheduler[J, T]) claim() (claimed []*task[J, T]) {
	claimed = s.claimed[:0]
	left, may := s.allowed()
	for _, h := range s.releases {
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
	return claimed
}

// grant notes that tk has got what it was promised.
func (s *Scheduler[J, T]) grant(tk *task[J, T], id omega.AllocationID) {
	m := tk.at
	h := &hold[J, T]{id: id, task: tk, on: m, need: tk.want.Need, booked: true, pos: len(m.holds)}
	m.holds = append(m.holds, h)
	s.held[id] = h
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
