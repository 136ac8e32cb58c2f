package drf

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Gate keeps the shares of schedulers even that take from one cell at the same
// time, with nobody in charge. Each has a [Seat], and asks before it takes:
//
//	 Ask ──no──▶ do something else, ask again
//	  │yes: charged
//	  ▼
//	place and commit ──no room──▶ Miss ──▶ parked until somebody returns something
//	  │done
//	  ▼
//	 Keep  …  the task ends: Return          nothing more to do: Rest
//
// The answer is yes while nobody who waits has a smaller weighted dominant
// share. What the Omega paper (section 8) leaves open, fairness among schedulers
// that commit in parallel, thus needs no common queue: asking reads what the
// others have written, locks nothing, waits for nobody, and writes only to the
// seat's own memory.
//
// # How far shares can drift apart
//
// Let i and j wait, both served by one goroutine each, and nothing be returned.
// Then share(i) exceeds share(j) by one task of i at most, however many
// schedulers there are: when i was last told yes it read that its share was not
// larger than j's, and j's has not become smaller since. Where g goroutines ask
// for one seat, up to g of its tasks may be on the way. A return makes shares
// smaller by what was returned, as it would under a lock, and i takes nothing
// further until j has caught up.
//
// # Who does not hold others back
//
// Who rests, who missed, until somebody returns something, and who has not been
// heard of for longer than the gate's patience: it may be slow, or dead, and
// counts again once it asks. So nobody is refused for longer than that for the
// sake of one who does nothing.
//
// The methods of a Gate and of its seats are safe for concurrent use; but for
// [Gate.Join], [Gate.SetTotal] and [Seat.Leave] they are lock-free. Cost of
// asking: O(seats), two cache lines each, so a seat is for a scheduler, of which
// there are tens, and not for each of its users.
type Gate struct {
	patience time.Duration
	totals   atomic.Pointer[totals]
	seats    atomic.Pointer[[]*Seat]
	held     atomic.Pointer[heldNode]
	returns  atomic.Uint64 // by seats that have left
	mu       sync.Mutex    // to join, leave, and set totals
}

// totals are what shares are parts of.
type totals struct {
	kinds   int // there is nothing from this kind on
	inverse [resources.MaxKinds]float64
}

// NewGate returns a gate without seats over a cell of the given total, in base
// units. Who waits and has not been heard of for longer than patience holds
// nobody back: a few times what a scheduler takes for one decision. Errors are
// those of [New], and [ErrPatience] if it is not positive.
func NewGate(total resources.Vector, patience time.Duration) (*Gate, error) {
	if patience <= 0 {
		return nil, refuse(ErrPatience, "gate with a patience of %v, want more than 0", patience)
	}
	g := &Gate{patience: patience}
	g.seats.Store(new([]*Seat))
	return g, g.setTotal(total)
}

// SetTotal changes what the seats share, as machines come and go. Errors are
// those of [New].
func (g *Gate) SetTotal(total resources.Vector) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.setTotal(total)
}

func (g *Gate) setTotal(total resources.Vector) error {
	if err := checkSome("gate: total", total); err != nil {
		return err
	}
	t := &totals{}
	for k, q := range total {
		if q > 0 {
			t.kinds, t.inverse[k] = k+1, 1/float64(q)
		}
	}
	g.totals.Store(t)
	return nil
}

// Join adds a seat that holds nothing and rests. Cost: O(seats). Errors:
// [ErrWeight].
func (g *Gate) Join(weight float64) (*Seat, error) {
	if err := checkWeight("join", weight); err != nil {
		return nil, err
	}
	s := &Seat{gate: g, inverse: 1 / weight}
	g.mu.Lock()
	defer g.mu.Unlock()
	seats := append(slices.Clone(*g.seats.Load()), s)
	g.seats.Store(&seats)
	return s, nil
}

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
// then [Seat.Keep] or [Seat.Miss] is to follow. From the first question on the
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

// wake makes those wait again who were parked with a share below mine, if
// something was returned since, and reports whether there are any.
func (g *Gate) wake(seats []*Seat, returns uint64, mine float64, at int64) (woken bool) {
	t := g.totals.Load()
	for _, o := range seats {
		state := o.state.Load()
		if state&stateMask != parked || state == parkedAt(returns) || o.share(t) >= mine {
			continue
		}
		// Its patience begins now: it may have slept for long.
		o.since.Store(at)
		o.state.CompareAndSwap(state, waiting) // else it has moved itself
		woken = true
	}
	return woken
}

// parkedAt is the state of a seat that has seen all returns of that sum.
func parkedAt(returns uint64) uint64 { return returns<<parkedShift | parked }

// Keep says that the task that the last yes was for has begun.
func (s *Seat) Keep() {
	if s.first.Load() != 0 {
		s.first.Store(0)
	}
}

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

// heldNode is the machine that is held, and for whom.
type heldNode struct {
	seat *Seat
	node uint32
}

// Hold keeps the others off one machine, by the caller's number of it, until
// enough has ended there for a need that fits nowhere: otherwise their small
// tasks take what becomes free, for ever. It waits no longer than what runs
// there. One seat at a time holds one machine; Hold reports whether it is this
// one: false while another does that has been heard of within the gate's
// patience. A seat that holds is to ask again as often as that. It is for who
// was passed over: see [Seat.Miss].
func (s *Seat) Hold(node uint32, now time.Time) bool {
	for {
		h := s.gate.held.Load()
		if h != nil && h.seat != s && h.alive(now) {
			return false
		}
		if h != nil && h.seat == s && h.node == node {
			return true
		}
		if s.gate.held.CompareAndSwap(h, &heldNode{s, node}) {
			return true
		}
	}
}

// LetGo ends Hold: the task is placed, or wanted no more.
func (s *Seat) LetGo() {
	if h := s.gate.held.Load(); h != nil && h.seat == s {
		s.gate.held.CompareAndSwap(h, nil)
	}
}

// Barred returns the machine that another seat holds, if any does: it is not to
// be taken from.
func (s *Seat) Barred(now time.Time) (node uint32, ok bool) {
	h := s.gate.held.Load()
	if h == nil || h.seat == s || !h.alive(now) {
		return 0, false
	}
	return h.node, true
}

func (h *heldNode) alive(now time.Time) bool {
	return now.UnixNano()-h.seat.since.Load() <= int64(h.seat.gate.patience)
}
