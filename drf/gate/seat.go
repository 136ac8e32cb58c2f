package gate

import (
	"math"
	"slices"
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// Seat is a scheduler's place at a [Gate].
//
// It is for one goroutine and one question at a time: a scheduler that places on
// several goroutines has a seat for each. Only [Seat.Return], [Seat.Leave],
// [Seat.Share] and [Seat.Usage] are safe for concurrent use. Methods of a nil or
// zero Seat fail with [resources.ErrNil], or do nothing.
type Seat struct {
	// Other seats read these for every question, in two cache lines.
	usage    [resources.MaxKinds]atomicInt64
	state    atomicUint64 // resting, waiting, gone, or parked with the sum of returns then
	heard    atomicInt64  // time of the scheduler's last call, in ns since 1970
	began    atomicInt64  // time at which it began to wait, or was woken
	until    atomicInt64  // it sleeps until then, unless it returns more than seen
	seen     atomicUint64 // its own returns at the yes before it missed
	returned counter      // of returns
	kept     counter      // of tasks
	inverse  float64      // of the weight

	// These belong to the scheduler's goroutine.
	gate    *Gate
	asked   uint64 // the sum of returns at the last yes
	mine    uint64 // its own among them
	delay   int64  // time that others were to wait for it, since its last Keep
	longest int64  // the longest part of delay at once
	first   uint64 // tasks of others at its first miss, plus 1; 0 if it has not missed since
	_       [2]uint64
}

// tolerance is the delay, as a multiple of its longest part, from which a seat that
// keeps nothing sleeps. A larger value is kinder to schedulers with large tasks and
// worse for all others. With twice this value, a slow scheduler with a task that
// fits nowhere left a seventh of a simulated cell empty.
const tolerance = 32

// The states of a seat.
const (
	resting = iota
	waiting
	gone
	parked // and the sum of returns shifted by parkedShift

	parkedShift = 2
	stateMask   = 1<<parkedShift - 1
)

// none reports whether s is nil, or not made by [Gate.Join].
func (s *Seat) none() bool { return s == nil || s.gate == nil }

// Ask reports whether it is the seat's turn to take need, and charges the seat if
// so. Then [Seat.Keep], [Seat.Miss] or [Seat.Undo] has to follow.
//
// From the first question on the seat waits, until it misses or rests: seats with
// larger shares are refused meanwhile. It is the seat's turn if no waiting seat has
// a smaller share. Now has to be from the same clock for all seats. Cost: one pass
// over the seats, no allocation. Errors: [drf.ErrEmpty], [resources.ErrQuantity], and
// [drf.ErrUser] after [Seat.Leave].
func (s *Seat) Ask(need resources.Vector, now time.Time) (yes bool, err error) {
	if s.none() {
		return false, self.Absent("seat")
	}
	if err := self.Some("ask", need); err != nil {
		return false, err
	}
	for k, q := range need {
		if q == 0 {
			continue
		}
		if held := s.usage[k].Load(); held > resources.MaxQuantity-q { // other calls can only lower it
			return false, self.Refuse(resources.ErrQuantity, "ask for %v plus kind%d=%d held, want at most 2^62 in all", need, k, held)
		}
	}
	at := now.UnixNano()
	// A store that changes nothing would still take the cache line from other seats.
	if s.heard.Load() != at {
		s.heard.Store(at)
	}
	if s.state.Load() != waiting && !s.wait(at) {
		return false, s.left("ask")
	}
	t := s.gate.totals.Load()
	share := s.share(t)
	r := s.gate.roster.Load()
	poorer := false // a parked seat is
	returns, mine := r.returned+s.gate.late.Load(), s.returned.load()
	for _, o := range r.seats {
		returns += o.returned.load()
		state := o.state.Load() & stateMask
		if state == resting || state == gone || o == s || o.share(t) >= share {
			continue
		}
		if state == parked {
			poorer = true // it may have to be woken, see below
		} else if at-max(o.heard.Load(), o.began.Load()) <= int64(s.gate.patience) {
			return false, nil
		}
	}
	// Something may have been returned since a poorer seat missed: it goes first.
	if poorer && s.gate.wake(r.seats, returns, share, at) {
		return false, nil
	}
	for k, q := range need {
		if q != 0 {
			s.usage[k].Add(q)
		}
	}
	s.asked, s.mine = returns, mine
	return true, nil
}

// wait makes the seat wait unless it sleeps. It reports false if the seat has left.
func (s *Seat) wait(at int64) bool {
	for { // a swap fails only if another call has woken or removed the seat
		state, next := s.state.Load(), uint64(waiting)
		asleep := s.asleep(at)
		switch {
		case state&stateMask == gone:
			return false
		case state == waiting, asleep && state&stateMask == parked:
			return true
		case asleep: // it has rested meanwhile
			next = parkedAt(s.asked)
		default:
			s.began.Store(at)
		}
		if s.state.CompareAndSwap(state, next) {
			return true
		}
	}
}

// asleep reports whether the seat is to be left parked.
func (s *Seat) asleep(at int64) bool {
	return at < s.until.Load() && s.returned.load() == s.seen.Load()
}

// Keep reports that the task of the last yes has begun.
func (s *Seat) Keep() {
	if s.none() {
		return
	}
	s.kept.up()
	if s.first == 0 && s.delay == 0 {
		return
	}
	s.first, s.delay, s.longest = 0, 0, 0
	s.until.Store(0)
	if state := s.state.Load(); state&stateMask == parked {
		s.began.Store(s.heard.Load())
		s.state.CompareAndSwap(state, waiting) // fails if another seat has woken it
	}
}

// Undo returns the amount of the last yes after a conflict, and the seat goes on
// waiting. Seats with larger shares take nothing meanwhile, so a scheduler that
// found no room calls [Seat.Miss] instead. Errors: [drf.ErrHeld],
// [resources.ErrQuantity].
func (s *Seat) Undo(need resources.Vector) error {
	if s.none() {
		return self.Absent("seat")
	}
	return s.credit("undo", need)
}

// Miss returns the amount of the last yes, because there is no room for it
// anywhere, and parks the seat. A parked seat holds no other seat back until
// something is returned.
//
// Passed is the number of tasks that others have begun since the seat first missed,
// if it has neither kept anything nor rested since. When it is too large, the scheduler
// should reserve room in the cell for its task. Cost: O(seats). Errors: [drf.ErrHeld] for
// more than the seat has, [resources.ErrQuantity], [drf.ErrUser] after [Seat.Leave].
func (s *Seat) Miss(need resources.Vector, now time.Time) (passed int, err error) {
	if s.none() {
		return 0, self.Absent("seat")
	}
	if s.state.Load()&stateMask == gone {
		return 0, s.left("miss")
	}
	if err := s.credit("miss", need); err != nil {
		return 0, err
	}
	if !s.park(now.UnixNano()) {
		return 0, s.left("miss")
	}
	r := s.gate.roster.Load()
	tasks := 1 + r.kept
	for _, o := range r.seats {
		if o != s {
			tasks += o.kept.load()
		}
	}
	if s.first == 0 {
		s.first = tasks
	}
	return int(min(tasks-s.first, math.MaxInt)), nil
}

// park notes the call and parks the seat. It reports false if the seat has left.
func (s *Seat) park(at int64) bool {
	s.heard.Store(at)
	for {
		state := s.state.Load()
		if state&stateMask == gone {
			return false
		}
		if state == waiting {
			s.sleep(at, min(max(at-s.began.Load(), 0), int64(s.gate.patience)))
		}
		// Room returned since the question may be the room that it missed, and
		// wakes it.
		if s.state.CompareAndSwap(state, parkedAt(s.asked)) {
			return true
		}
	}
}

// sleep adds a wait of others to the delay and sets the seat's sleep.
func (s *Seat) sleep(at, waited int64) {
	s.delay += waited
	s.longest = max(s.longest, waited, 1)
	s.seen.Store(s.mine)
	s.until.Store(at + int64(float64(waited)*max(0, float64(s.delay)/float64(s.longest)-tolerance)))
}

// Return returns the amount of a task that has ended, and so lets parked seats be
// woken. Errors: [drf.ErrHeld] for more than the seat has, [resources.ErrQuantity].
func (s *Seat) Return(v resources.Vector) error {
	if s.none() {
		return self.Absent("seat")
	}
	if err := s.credit("return", v); err != nil {
		return err
	}
	if !s.returned.up() {
		s.gate.late.Add(1) // the roster has counted the others
	}
	return nil
}

func (s *Seat) credit(op string, v resources.Vector) error {
	if err := v.Check(); err != nil {
		return self.Refuse(err, "%s", op)
	}
	for k, q := range v {
		if held := s.usage[k].Load(); held < q {
			return refuseHeld(op, v, held, k)
		}
	}
	for k, q := range v {
		if q == 0 {
			continue
		}
		for { // a swap fails only if another return of the kind succeeded
			held := s.usage[k].Load()
			if held < q {
				for i := range k {
					s.usage[i].Add(v[i])
				}
				return refuseHeld(op, v, held, k)
			}
			if s.usage[k].CompareAndSwap(held, held-q) {
				break
			}
		}
	}
	return nil
}

func refuseHeld(op string, v resources.Vector, held int64, k int) error {
	return self.Refuse(drf.ErrHeld, "%s %v, but the seat holds kind%d=%d", op, v, k, held)
}

// Rest ends the seat's wait until it asks again: it wants nothing for now.
func (s *Seat) Rest() {
	if s.none() {
		return
	}
	s.first = 0
	for {
		state := s.state.Load()
		if state&stateMask == gone || s.state.CompareAndSwap(state, resting) {
			return
		}
	}
}

// Leave removes the seat from the gate. It no longer counts, and the amounts that
// it still holds may be returned. Any goroutine may call it for a scheduler that
// has died.
func (s *Seat) Leave() {
	if s.none() {
		return
	}
	s.state.Store(gone)
	g := s.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	r := *g.roster.Load()
	i := slices.Index(r.seats, s)
	if i < 0 {
		return // it has left already
	}
	r.seats = slices.Delete(slices.Clone(r.seats), i, i+1)
	r.returned += s.returned.end()
	r.kept += s.kept.end()
	g.roster.Store(&r)
}

func (s *Seat) left(op string) error {
	return self.Refuse(drf.ErrUser, "%s: the seat has left", op)
}

// share returns the seat's weighted dominant share, rounded. Two seats with shares
// that differ by less than the rounding may go in either order.
func (s *Seat) share(t *totals) (share float64) {
	for k := range t.kinds {
		share = max(share, float64(s.usage[k].Load())*t.inverse[k])
	}
	return share * s.inverse
}

// Share returns the seat's weighted dominant share.
func (s *Seat) Share() float64 {
	if s.none() {
		return 0
	}
	return s.share(s.gate.totals.Load())
}

// Usage returns the amount that the seat holds. It includes a yes that is not yet
// missed or undone.
func (s *Seat) Usage() (v resources.Vector) {
	if s.none() {
		return v
	}
	for k := range v {
		v[k] = s.usage[k].Load()
	}
	return v
}

// Waits reports whether the seat waits for its turn. Since its last question it has
// neither missed nor rested, or a return has woken it after a miss. Safe for
// concurrent use.
func (s *Seat) Waits() bool { return !s.none() && s.state.Load()&stateMask == waiting }
