package drf

import (
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
//	  │done         └──conflict─▶ Undo ──▶ ask again
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
