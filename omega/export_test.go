package omega

import "time"

// MarksKept returns how many marks the list holds, whether or not they stand.
func MarksKept(s *Scheduler) (n int) {
	for m := s.owner.marks.Load(); m != nil && m.size > 0; m = m.next {
		n++
	}
	return n
}

// Age returns how long ago the snapshot was refreshed.
func (s *Snapshot) Age(now time.Time) time.Duration {
	if s.none() {
		return 0
	}
	return now.Sub(s.at)
}

// Errors that tests tell apart; programs see ErrTxn.
var (
	ErrReservation = errReservation
	ErrUncommitted = errUncommitted
	ErrEmpty       = errEmpty
	ErrCommitted   = errCommitted
	ErrGrace       = errGrace
	ErrVictim      = errVictim
	ErrExchange    = errExchange
)

// Errors that tests tell apart; programs see ErrName.
var (
	ErrID = errID
)
