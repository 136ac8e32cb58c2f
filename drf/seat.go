package drf

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Seat is a scheduler's place at a [Gate].
type Seat struct {
	// What others read for every question, in two cache lines.
	usage    [resources.MaxKinds]atomic.Int64
	state    atomic.Uint64 // resting, waiting, gone, or parked with the sum of returns then
	since    atomic.Int64  // when it was heard of, or woken, last: nanoseconds since 1970
	returned atomic.Uint64 // counts returns
	granted  atomic.Uint64 // counts answers of yes
	inverse  float64       // of the weight
	gate     *Gate
	first    atomic.Uint64 // grants to others when it first missed, plus 1; 0 if it has not since it kept something
	asked    atomic.Uint64 // the sum of returns when it was told yes last
}

// The states of a seat.
const (
	resting = iota
	waiting
	gone
	parked // and the sum of returns shifted by parkedShift

	parkedShift = 2
	stateMask   = 1<<parkedShift - 1
)

// Ask reports whether it is the seat's turn to take need, and if so charges it:
// then [Seat.Keep], [Seat.Miss] or [Seat.Undo] is to follow. From the first question on the
// seat waits, and others with larger shares are refused, until it misses or
// rests. No allocation, one pass over the seats.
//
// It is the seat's turn if none that waits has a smaller share. Now is to be
// from the same clock for all seats. Errors: [ErrEmpty],
// [resources.ErrQuantity], and [ErrUser] after [Seat.Leave].
func (s *Seat) Ask(need resources.Vector, now time.Time) (yes bool, err error) {
	if err := checkSome("ask for", need); err != nil {
		return false, err
	}
	if err := s.heard(waiting, now); err != nil {
		return false, err
	}
	at := now.UnixNano()
	t := s.gate.totals.Load()
	mine := s.share(t)
	seats := *s.gate.seats.Load()
	asleep := false // somebody poorer is parked
	returns := s.gate.returns.Load()
	for _, o := range seats {
		returns += o.returned.Load()
		state := o.state.Load() & stateMask
		if state == resting || state == gone || o == s || o.share(t) >= mine {
			continue
		}
		if state == parked {
			asleep = true
		} else if at-o.since.Load() <= int64(s.gate.patience) {
			return false, nil
		}
	}
	if asleep && s.gate.wake(seats, returns, mine, at) {
		return false, nil
	}
	for k, q := range need {
		if q == 0 {
			continue
		}
		if sum := s.usage[k].Add(q); sum > resources.MaxQuantity || sum < 0 {
			for i := range k + 1 {
				s.usage[i].Add(-need[i])
			}
			return false, refuse(resources.ErrQuantity, "ask for %v on top of %d of kind %d, want at most 2^62 in all", need, sum-q, k)
		}
	}
	s.granted.Add(1)
	s.asked.Store(returns)
	return true, nil
}

// Keep says that the task that the last yes was for has begun.
func (s *Seat) Keep() {
	if s.first.Load() != 0 {
		s.first.Store(0)
	}
}

// Undo gives back what the last yes was for, and the seat goes on waiting, so
// that others with larger shares take nothing: after a conflict, or where all of
// the cell is to be held back for one that is behind. Errors: [ErrHeld],
// [resources.ErrQuantity].
func (s *Seat) Undo(need resources.Vector) error { return s.credit(need) }

// Miss gives back what the last yes was for, since there is no room for it
// anywhere, and parks the seat: it holds nobody back until somebody returns
// something. It returns how many times others were told yes since the seat
// first missed, without keeping anything since: when that is too often, it may
// hold a machine: see [Seat.Hold]. Errors: [ErrHeld] for more than the seat has,
// [resources.ErrQuantity], [ErrUser] after [Seat.Leave].
func (s *Seat) Miss(need resources.Vector, now time.Time) (passed int, err error) {
	if s.state.Load()&stateMask == gone {
		return 0, s.left("miss")
	}
	if err := s.credit(need); err != nil {
		return 0, err
	}
	// What was returned since it asked may be the room it missed, and wakes it.
	if err := s.heard(parkedAt(s.asked.Load()), now); err != nil {
		return 0, err
	}
	grants := uint64(1)
	for _, o := range *s.gate.seats.Load() {
		if o != s {
			grants += o.granted.Load()
		}
	}
	first := s.first.Load()
	if first == 0 || grants < first { // those of who has left are gone
		s.first.Store(grants)
		return 0, nil
	}
	return int(min(grants-first, math.MaxInt)), nil
}

// Return gives back what a task held that has ended, and wakes who is parked.
// Errors: [ErrHeld] for more than the seat has, [resources.ErrQuantity].
func (s *Seat) Return(v resources.Vector) error {
	if err := s.credit(v); err != nil {
		return err
	}
	s.returned.Add(1)
	if s.state.Load()&stateMask == gone {
		s.gate.returns.Add(1)
	}
	return nil
}

func (s *Seat) credit(v resources.Vector) error {
	if err := v.Check(); err != nil {
		return refuse(err, "return")
	}
	for k, q := range v {
		if q == 0 {
			continue
		}
		if left := s.usage[k].Add(-q); left < 0 {
			for i := range k + 1 {
				s.usage[i].Add(v[i])
			}
			return refuse(ErrHeld, "return %v, but the seat holds %d of kind %d", v, left+q, k)
		}
	}
	return nil
}

// Rest says that the seat wants nothing for now, until it asks again.
func (s *Seat) Rest() {
	s.LetGo()
	for {
		state := s.state.Load()
		if state&stateMask == gone || s.state.CompareAndSwap(state, resting) {
			return
		}
	}
}

// Leave removes the seat from the gate: it counts no more, and what it still
// holds may be returned. Anybody may call it for a scheduler that has died.
func (s *Seat) Leave() {
	s.LetGo()
	s.state.Store(gone)
	g := s.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	seats := *g.seats.Load()
	i := slices.Index(seats, s)
	if i < 0 {
		return // it has left already
	}
	// The sum of returns does not become less, or it might be that of another
	// time.
	g.returns.Add(s.returned.Load())
	seats = slices.Delete(slices.Clone(seats), i, i+1)
	g.seats.Store(&seats)
}

func (s *Seat) left(op string) error {
	return refuse(ErrUser, "%s: the seat has left", op)
}

// heard notes that the seat is alive, and in which state.
func (s *Seat) heard(state uint64, now time.Time) error {
	if at := now.UnixNano(); s.since.Load() != at {
		s.since.Store(at)
	}
	for {
		was := s.state.Load()
		switch {
		case was&stateMask == gone:
			return s.left("ask")
		case was == state || s.state.CompareAndSwap(was, state):
			return nil
		}
	}
}

// share returns the seat's weighted dominant share, rounded: two seats whose
// shares are closer than that may each go first.
func (s *Seat) share(t *totals) (share float64) {
	for k := range t.kinds {
		share = max(share, float64(s.usage[k].Load())*t.inverse[k])
	}
	return share * s.inverse
}

// Share returns the seat's weighted dominant share.
func (s *Seat) Share() float64 { return s.share(s.gate.totals.Load()) }

// Usage returns what the seat holds, what it has asked for and not missed yet
// included.
func (s *Seat) Usage() (v resources.Vector) {
	for k := range v {
		v[k] = s.usage[k].Load()
	}
	return v
}
