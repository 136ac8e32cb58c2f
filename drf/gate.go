package drf

import (
	"slices"
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
// others have written, locks nothing and waits for nobody. It writes to the
// seat's own memory; only who finds a poorer seat parked, and something returned
// since, writes to that one as well, to wake it.
//
// # How far shares can drift apart
//
// A seat waits from its question until it misses or rests. Let i and j wait for
// some time without a break, and nothing be returned. Then share(i) exceeds
// share(j) by one task of i at most when i is told yes, however many schedulers
// there are, for i has read that its share was not larger than j's. Later it may
// be one task of j more, if j had asked for that and undoes it. Where i was
// further ahead to begin with, or a return makes it so, it takes nothing until
// j has caught up.
//
// # Who does not hold others back
//
// Who rests, who missed, until something is returned, and who has not been heard
// of for longer than the gate's patience: it may be slow, or dead, and counts
// again once it asks. So d schedulers that die can have others refused for d
// times the patience in all.
//
// Who goes on missing may wait for room that will never be, so it is woken less
// and less. While a seat keeps nothing, let H be how long others were to wait for
// it in all, and u the longest of these times, which is the patience at most.
// When it misses after another h, it is left parked for h·(H/u-32) at least, if
// that is positive, and its own questions hold nobody back meanwhile. So in a
// time T others wait for it for about 32u + √(2uT): with u = 5 ms, for 2 % of
// a minute, and ever less. What the seat itself returns ends this, as what ran there
// will fit there again: who has large tasks keeps the share it has. To get there
// where much else is running it should hold a machine, see [Seat.Hold].
//
// The methods of a Gate are safe for concurrent use, those of a seat as said
// there; but for [Gate.Join] and [Seat.Leave] they are lock-free. Cost of
// asking: O(seats), two cache lines each, so a seat is for a scheduler, of which
// there are tens, and not for each of its users.
// Methods of a nil or zero Gate fail with [resources.ErrNil]; [NewGate] makes one.
type Gate struct {
	patience time.Duration
	totals   atomicPointer[totals]
	roster   atomicPointer[roster] // replaced, never written through
	held     atomicPointer[heldNode]
	late     atomicUint64 // returns by seats that had left
	mu       mutex        // to join and to leave
}

// totals are what shares are parts of.
type totals struct {
	kinds   int // there is nothing from this kind on
	inverse [resources.MaxKinds]float64
}

// roster is who has a seat, and what those did who had one: a sum over both
// never becomes less, or it might be that of another time.
type roster struct {
	seats          []*Seat
	returned, kept uint64
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
	g.roster.Store(&roster{})
	if err := g.SetTotal(total); err != nil {
		return nil, err
	}
	return g, nil
}

// none reports whether g is nil, or not made by [NewGate].
func (g *Gate) none() bool { return g == nil || g.patience == 0 }

// SetTotal changes what the seats share, as machines come and go. Errors are
// those of [New].
func (g *Gate) SetTotal(total resources.Vector) error {
	if g.none() {
		return absent("gate")
	}
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
	if g.none() {
		return nil, absent("gate")
	}
	if err := checkWeight("join", weight); err != nil {
		return nil, err
	}
	s := &Seat{gate: g, inverse: 1 / weight}
	g.mu.Lock()
	defer g.mu.Unlock()
	r := *g.roster.Load()
	r.seats = append(slices.Clone(r.seats), s)
	g.roster.Store(&r)
	return s, nil
}

// wake makes those wait again who were parked with a share below mine, if it is
// time to, and reports whether there are any.
func (g *Gate) wake(seats []*Seat, returns uint64, mine float64, at int64) (woken bool) {
	t := g.totals.Load()
	for _, o := range seats {
		state := o.state.Load()
		if state&stateMask != parked || state == parkedAt(returns) || o.asleep(at) || o.share(t) >= mine {
			continue
		}
		// Its patience begins now: it may have slept for long.
		o.began.Store(at)
		o.state.CompareAndSwap(state, waiting) // else it has moved itself
		woken = true
	}
	return woken
}

// parkedAt is the state of a seat that has seen all returns of that sum.
func parkedAt(returns uint64) uint64 { return returns<<parkedShift | parked }
