package drf

import (
	"math"
	"slices"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Seat is a scheduler's place at a [Gate].
//
// It is for one goroutine at a time, and one question at a time: a scheduler of
// several goroutines that place has as many seats. Only [Seat.Return],
// [Seat.Leave], [Seat.Share] and [Seat.Usage] may be called by anybody at any
// time.
// Methods of a nil or zero Seat fail with [resources.ErrNil], or do nothing.
type Seat struct {
	// What others read for every question, in two cache lines.
	usage    [resources.MaxKinds]atomicInt64
	state    atomicUint64 // resting, waiting, gone, or parked with the sum of returns then
	heard    atomicInt64  // when the scheduler called last: nanoseconds since 1970
	began    atomicInt64  // when it began to wait, or was woken
	until    atomicInt64  // left parked until then, unless more than seen was returned
	seen     atomicUint64 // returned, when it was told yes before it missed
	returned counter      // of returns
	kept     counter      // of tasks
	inverse  float64      // of the weight

	// Of the scheduler's own goroutine.
	gate  *Gate
	asked uint64 // the sum of returns when it was told yes last
	mine  uint64 // of these its own
	vain  int64  // how long others were to wait for it, since it kept something
	most  int64  // how long at once
	first uint64 // tasks of others when it first missed, plus 1; 0 if it has not since
	_     [2]uint64
}

// lenient is how many times others are to wait for a seat that keeps nothing
// before it is left parked. More is kinder to those with large tasks, less to all
// others: with twice as many, a slow one whose task fits nowhere left a seventh of
// a simulated cell empty.
const lenient = 32

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

// Ask reports whether it is the seat's turn to take need, and if so charges it:
// then [Seat.Keep], [Seat.Miss] or [Seat.Undo] is to follow. From the first
// question on the seat waits, and others with larger shares are refused, until
// it misses or rests. No allocation, one pass over the seats.
//
// It is the seat's turn if none that waits has a smaller share. Now is to be
// from the same clock for all seats. Errors: [ErrEmpty],
// [resources.ErrQuantity], and [ErrUser] after [Seat.Leave].
func (s *Seat) Ask(need resources.Vector, now time.Time) (yes bool, err error) {
	if s.none() {
		return false, absent("seat")
	}
	if err := checkSome("ask", need); err != nil {
		return false, err
	}
	for k, q := range need {
		if q == 0 {
			continue
		}
		if held := s.usage[k].Load(); held > resources.MaxQuantity-q { // others can only make it less
			return false, refuse(resources.ErrQuantity, "ask for %v on top of %d of kind %d, want at most 2^62 in all", need, held, k)
		}
	}
	at := now.UnixNano()
	if s.heard.Load() != at {
		s.heard.Store(at)
	}
	if s.state.Load() != waiting && !s.wait(at) {
		return false, s.left("ask")
	}
	t := s.gate.totals.Load()
	share := s.share(t)
	r := s.gate.roster.Load()
	poorer := false // somebody is, and parked
	returns, mine := r.returned+s.gate.late.Load(), s.returned.load()
	for _, o := range r.seats {
		returns += o.returned.load()
		state := o.state.Load() & stateMask
		if state == resting || state == gone || o == s || o.share(t) >= share {
			continue
		}
		if state == parked {
			poorer = true
		} else if at-max(o.heard.Load(), o.began.Load()) <= int64(s.gate.patience) {
			return false, nil
		}
	}
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

// wait has the seat wait, unless it is to be left parked, and reports whether
// it has not left.
func (s *Seat) wait(at int64) bool {
	for { // until nobody wakes it, or makes it leave, meanwhile
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

// asleep reports whether others are not to wait for the seat yet.
func (s *Seat) asleep(at int64) bool {
	return at < s.until.Load() && s.returned.load() == s.seen.Load()
}

// Keep says that the task that the last yes was for has begun.
func (s *Seat) Keep() {
	if s.none() {
		return
	}
	s.kept.up()
	if s.first == 0 && s.vain == 0 {
		return
	}
	s.first, s.vain, s.most = 0, 0, 0
	s.until.Store(0)
	if state := s.state.Load(); state&stateMask == parked {
		s.began.Store(s.heard.Load())
		s.state.CompareAndSwap(state, waiting) // else somebody else has woken it
	}
}

// Undo gives back what the last yes was for, and the seat goes on waiting:
// after a conflict. Others with larger shares take nothing meanwhile, so who
// found no room is to call [Seat.Miss]. Errors: [ErrHeld],
// [resources.ErrQuantity].
func (s *Seat) Undo(need resources.Vector) error {
	if s.none() {
		return absent("seat")
	}
	return s.credit("undo", need)
}

// Miss gives back what the last yes was for, since there is no room for it
// anywhere, and parks the seat: it holds nobody back until somebody returns
// something. It returns how many tasks others have begun since the seat first
// missed, without keeping anything or resting since: when these are too many, it
// may hold a machine: see [Seat.Hold]. Cost: O(seats). Errors: [ErrHeld] for
// more than the seat has, [resources.ErrQuantity], [ErrUser] after [Seat.Leave].
func (s *Seat) Miss(need resources.Vector, now time.Time) (passed int, err error) {
	if s.none() {
		return 0, absent("seat")
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

// park notes that the seat is heard of and has missed, and reports whether it
// has not left.
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
		// What was returned since it asked may be the room it missed, and wakes it.
		if s.state.CompareAndSwap(state, parkedAt(s.asked)) {
			return true
		}
	}
}

// sleep sets how long the seat is to be left parked after others were to wait
// for it, in vain.
func (s *Seat) sleep(at, waited int64) {
	s.vain += waited
	s.most = max(s.most, waited, 1)
	s.seen.Store(s.mine)
	s.until.Store(at + int64(float64(waited)*max(0, float64(s.vain)/float64(s.most)-lenient)))
}

// Return gives back what a task held that has ended, and wakes who is parked.
// Errors: [ErrHeld] for more than the seat has, [resources.ErrQuantity].
func (s *Seat) Return(v resources.Vector) error {
	if s.none() {
		return absent("seat")
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
		return refuse(err, "%s", op)
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
		for { // until nothing else of the kind is returned meanwhile
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
	return refuse(ErrHeld, "%s %v, but the seat holds %d of kind %d", op, v, held, k)
}

// Rest says that the seat wants nothing for now, until it asks again.
func (s *Seat) Rest() {
	if s.none() {
		return
	}
	s.LetGo()
	s.first = 0
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
	if s.none() {
		return
	}
	s.state.Store(gone)
	s.LetGo()
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
	return refuse(ErrUser, "%s: the seat has left", op)
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
func (s *Seat) Share() float64 {
	if s.none() {
		return 0
	}
	return s.share(s.gate.totals.Load())
}

// Usage returns what the seat holds, what it has asked for and not missed yet
// included.
func (s *Seat) Usage() (v resources.Vector) {
	if s.none() {
		return v
	}
	for k := range v {
		v[k] = s.usage[k].Load()
	}
	return v
}

// Waits reports whether the seat waits for its turn: since it asked last it has neither
// missed nor rested, or it has missed and was woken by what was returned since. Safe for
// concurrent use.
func (s *Seat) Waits() bool { return !s.none() && s.state.Load()&stateMask == waiting }
