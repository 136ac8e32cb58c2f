package flow

import (
	"math"
	"slices"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// reservation is one of the cell's, for a task on the machine that is kept for it, until
// the task has its allocation there.
type reservation[J, T comparable] struct {
	id   omega.ReservationID
	task *task[J, T]
	on   *machine[J, T]
}

// wanted reports whether the machine is kept for the task still, or promised to it.
func (s *Scheduler[J, T]) wanted(r reservation[J, T]) bool {
	return s.kept.on == r.on && s.kept.task == r.task || r.task.at == r.on && r.task.next == nil && r.task.run == nil
}

// reservationOf returns the reservation that the claim of a task is to name, or 0.
func (s *Scheduler[J, T]) reservationOf(tk *task[J, T]) omega.ReservationID {
	for _, r := range s.reservations {
		if r.task == tk && r.on == tk.at {
			return r.id
		}
	}
	return 0
}

// recount drops the reservations that have ended in the cell.
func (s *Scheduler[J, T]) recount(snap *omega.Snapshot) {
	if len(s.reservations) == 0 {
		return
	}
	there := map[omega.ReservationID]bool{}
	for r := range snap.Reservations() {
		there[r.ID] = true
	}
	s.reservations = filter(s.reservations, func(r reservation[J, T]) bool {
		if !there[r.id] {
			s.release(r)
		}
		return there[r.id]
	})
}

// release notes that the cell has ended a reservation.
func (s *Scheduler[J, T]) release(r reservation[J, T]) {
	r.on.reservation = 0
	s.again(r.on)
}

// freeIn returns what a machine has free for the scheduler: with what is reserved there for
// a task of its own.
func (m *machine[J, T]) freeIn(snap *omega.Snapshot, otherwise resources.Vector) resources.Vector {
	if free, ok := snap.FreeFor(m.id, m.reservation); ok {
		return free
	}
	return otherwise
}

// rereserve adds to the transaction what ends the reservations that are not wanted any more,
// and begins that of the machine that is kept. It returns what is to be done once the
// transaction has its outcome, nil where there is nothing to begin or end.
func (s *Scheduler[J, T]) rereserve(now time.Time) (settle func()) {
	tx := &s.attempt.Txn
	var ended []reservation[J, T]
	begins, k := s.kept.on != nil, s.kept
	for _, r := range s.reservations {
		switch {
		case !s.wanted(r):
			tx.Unreserve(r.id)
			ended = append(ended, r)
		case r.on == k.on && r.task == k.task:
			begins = false
		}
	}
	if !begins && len(ended) == 0 {
		return nil
	}
	i := -1
	if begins {
		until := s.cfg.Patience
		if until < math.MaxInt64/longestPatiences {
			until *= longestPatiences
		}
		i = tx.Reserve(now.Add(until), k.task.claim(k.on))
	}
	return func() {
		s.reservations = filter(s.reservations, func(r reservation[J, T]) bool {
			if slices.Contains(ended, r) {
				s.release(r)
				return false
			}
			return true
		})
		if id, err := tx.Reservation(i); err == nil {
			k.on.reservation = id
			s.reservations = append(s.reservations, reservation[J, T]{id, k.task, k.on})
		}
	}
}

// longestPatiences is how many patiences a reservation lasts at most. A machine that gets
// no nearer to what it is kept for is given up after one.
const longestPatiences = 10

// claim returns the claim of a task on a machine.
func (tk *task[J, T]) claim(m *machine[J, T]) omega.Claim {
	return omega.Claim{Machine: m.id, Account: tk.want.Account, Need: tk.want.Need, Precedence: tk.want.Precedence}
}
