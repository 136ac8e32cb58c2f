package gate

import (
	"slices"
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// Gate keeps shares even among schedulers that take from one cell at the same time,
// with no central scheduler. Each scheduler has a [Seat], and asks before it takes:
//
//	 Ask ──no──▶ do something else, ask again
//	  │yes: charged
//	  ▼
//	place and commit ──no room──▶ Miss ──▶ parked until a seat returns something
//	  │done         └──conflict─▶ Undo ──▶ ask again
//	  ▼
//	 Keep  …  the task ends: Return          nothing more to do: Rest
//
// The answer is yes if no waiting seat has a smaller weighted dominant share. The
// Omega paper (section 8) leaves fairness open among schedulers that commit in
// parallel. The gate needs no common queue for it: a question reads the other
// seats, takes no lock and never waits. It writes to the seat's own memory. The one
// exception: a seat that finds a poorer one parked, and something returned since,
// writes to that one to wake it.
//
// # How far shares can drift apart
//
// A seat waits from its question until it misses or rests. Let seats i and j wait
// without a break while nothing is returned. Let t(i) be the share of one task of
// i.
//
//   - When i is told yes, share(i) exceeds share(j) by at most t(i), for any number
//     of schedulers: i has read that its share was not larger than j's.
//   - Later the difference may grow by t(j), if j had been told yes and undoes
//     that.
//   - If i was further ahead to begin with, or after a return, it takes nothing
//     until j has caught up.
//
// # Seats that do not hold others back
//
// A seat holds no other seat back in these states:
//
//   - It rests.
//   - It missed, and nothing has been returned since.
//   - It has not called for longer than the gate's patience. It may be slow or
//     dead, and counts again once it asks. So d schedulers that die delay the
//     others by d times the patience in all.
//   - It sleeps, because it misses again and again.
//
// A seat that keeps missing may wait for room that never comes, so it sleeps longer
// and longer. Let H be the time that others were to wait for it since it last kept
// something. Let u be the longest of these waits, at most the patience. When it
// misses after another wait h, it sleeps for h·(H/u-32), if that is positive. Its
// own questions then hold no other seat back. So in a time T others wait for it for
// about 32u + √(2uT): with u = 5 ms for 2 % of a minute, and a shrinking part
// later.
//
// A return by the seat itself ends its sleep, as the next task of that size will
// fit there. So a scheduler with large tasks keeps the share that it has. To get
// that share in a busy cell it should reserve room there, when [Seat.Miss] tells that it
// was passed over too often.
//
// # Concurrency and cost
//
// The methods of a Gate are safe for concurrent use. They are lock-free, except
// [Gate.Join] and [Seat.Leave]. [Seat] has rules of its own. A question costs
// O(seats), two cache lines each: a seat is for a scheduler, of which there are
// tens, and not for each of its users. Methods of a nil or zero Gate fail with
// [resources.ErrNil]; [New] makes one.
type Gate struct {
	patience time.Duration
	totals   atomicPointer[totals]
	roster   atomicPointer[roster] // replaced, never written through
	late     atomicUint64          // returns by seats that had left
	mu       mutex                 // to join and to leave
}

// totals are the amounts that shares are parts of.
type totals struct {
	kinds   int // the total has nothing from this kind on
	inverse [resources.MaxKinds]float64
}

// roster lists the seats and the counts of departed seats. With the departed
// included the sums never fall, so that equal sums are sums of the same time.
type roster struct {
	seats          []*Seat
	returned, kept uint64
}

// New returns a gate without seats over a cell of the given total, in base
// units. A waiting seat that has not called for longer than patience holds no other
// seat back. A good patience is a few times the length of one scheduling decision.
// Errors: as [New], and [drf.ErrPatience] if it is not positive.
func New(total resources.Vector, patience time.Duration) (*Gate, error) {
	if patience <= 0 {
		return nil, self.Refuse(drf.ErrPatience, "patience of %v, want more than 0", patience)
	}
	g := &Gate{patience: patience}
	g.roster.Store(&roster{})
	if err := g.SetTotal(total); err != nil {
		return nil, err
	}
	return g, nil
}

// none reports whether g is nil, or not made by [New].
func (g *Gate) none() bool { return g == nil || g.patience == 0 }

// SetTotal changes the total that shares are parts of, as machines come and go.
// Errors: as [New].
func (g *Gate) SetTotal(total resources.Vector) error {
	if g.none() {
		return self.Absent("receiver")
	}
	if err := self.Some("total", total); err != nil {
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
// [drf.ErrWeight].
func (g *Gate) Join(weight float64) (*Seat, error) {
	if g.none() {
		return nil, self.Absent("receiver")
	}
	if err := self.Weight("join", weight); err != nil {
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

// wake wakes the parked seats with a share below mine, if something was returned
// and their sleep is over. It reports whether there are any.
func (g *Gate) wake(seats []*Seat, returns uint64, mine float64, at int64) (woken bool) {
	t := g.totals.Load()
	for _, o := range seats {
		state := o.state.Load()
		if state&stateMask != parked || state == parkedAt(returns) || o.asleep(at) || o.share(t) >= mine {
			continue
		}
		// The patience for it begins now: it may have slept for long.
		o.began.Store(at)
		o.state.CompareAndSwap(state, waiting) // fails if its state has changed meanwhile
		woken = true
	}
	return woken
}

// parkedAt returns the state of a parked seat that has seen this number of returns.
func parkedAt(returns uint64) uint64 { return returns<<parkedShift | parked }
