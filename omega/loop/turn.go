package loop

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cellsched/cellsched/drf/gate"
	"github.com/cellsched/cellsched/resources"
)

// Gate evens out the dominant shares of loops that place on one cell in parallel. It is a
// [gate.Gate] with orders as seats. [NewGate] makes a Gate, [NewByTurn] an order that
// goes through it. It is safe for concurrent use.
type Gate struct {
	gate     *gate.Gate
	patience time.Duration
	members  atomic.Pointer[[]*member] // replaced, never written through
	joining  sync.Mutex                // held to replace members
}

// member is the part of an order at a gate that other members use.
type member struct {
	seat  *gate.Seat
	usage func() resources.Vector
	wake  atomic.Pointer[func()] // nil until the loop has slept

	// refused says that the loop is to be woken when it may be its turn.
	refused atomic.Bool
	// missed: the loop had its turn but found no room. It must ask again once the gate
	// lets it wait again, after a release.
	missed atomic.Bool

	mu   sync.Mutex       // guards kept
	kept resources.Vector // granted, and not seen to be released
}

// NewGate returns a gate without members over a cell of the given total, in base units.
// A loop that waits and has not been heard of for longer than patience holds no other
// loop back. Errors are those of [gate.New].
func NewGate(total resources.Vector, patience time.Duration) (*Gate, error) {
	g, err := gate.New(total, patience)
	if err != nil {
		return nil, err
	}
	return &Gate{gate: g, patience: patience}, nil
}

// SetTotal changes what the loops share, as machines come and go. Errors are those of
// [NewGate], and [resources.ErrNil].
func (g *Gate) SetTotal(total resources.Vector) error {
	if g == nil || g.gate == nil {
		return absent("receiver")
	}
	return g.gate.SetTotal(total)
}

func (g *Gate) all() []*member {
	if all := g.members.Load(); all != nil {
		return *all
	}
	return nil
}

// join adds a member.
func (g *Gate) join(m *member) {
	g.joining.Lock()
	defer g.joining.Unlock()
	all := append(slices.Clone(g.all()), m)
	g.members.Store(&all)
}

// leave takes a member out.
func (g *Gate) leave(m *member) {
	g.joining.Lock()
	defer g.joining.Unlock()
	all := slices.DeleteFunc(slices.Clone(g.all()), func(o *member) bool { return o == m })
	g.members.Store(&all)
}

// admit wakes the loops that were refused: it may be the turn of one of them.
func (g *Gate) admit() {
	for _, m := range g.all() {
		if m.refused.CompareAndSwap(true, false) {
			m.call()
		}
	}
}

// wakeMembers wakes the loops that found no room and that the others wait for
// again, since room was released.
func (g *Gate) wakeMembers() {
	for _, m := range g.all() {
		if m.missed.Load() && m.seat.Waits() && m.missed.CompareAndSwap(true, false) {
			m.call()
		}
	}
}

func (m *member) call() {
	if wake := m.wake.Load(); wake != nil {
		(*wake)()
	}
}

// settle credits the gate with the allocations that were released since.
func (m *member) settle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.usage()
	rest := m.kept.Min(held)
	if back, _ := m.kept.Sub(rest); back != (resources.Vector{}) && m.seat.Return(back) == nil {
		m.kept = rest
	}
}

// keep notes what was granted.
func (m *member) keep(v resources.Vector) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = m.kept.Add(v)
}

// ByTurn is an [Order] that lets a loop take turns with other loops on the same cell.
// ByTurn wraps another order. The jobs of that order go while no waiting loop has a
// smaller weighted dominant share. [gate.Gate] states the bound, and which loops hold
// none back.
//
// The gate admits the tasks of a job one by one. A turn is for the tasks that it admits,
// 16 at most. A gang counts as one task. While it is the turn of another loop, the first
// job is held back: see [Order]. A loop that finds no room, or passes it up, holds none
// back until something is released.
//
// ByTurn keeps no room for a job that fits nowhere. Orders are made by [NewByTurn]; [New]
// refuses a nil or zero ByTurn. A ByTurn belongs to the steps of its loop. Cost of a
// Next: for each task O(loops at the gate), and once O(accounts of their schedulers).
type ByTurn[K any] struct {
	gate  *Gate
	order Order[K]
	*member

	first   *Pending[K]      // has the next turn
	need    resources.Vector // of what was asked for
	asked   int              // so many are charged
	on      *Pending[K]      // for this job
	now     time.Time        // of the step
	pending int              // jobs in the loop that are not parked
	resting bool             // at the gate
}

// turn is how many tasks one turn is for at most: a loop that comes a moment later finds
// the others no further ahead.
const turn = 16

// NewByTurn returns the order of a loop at a gate, around another order; a nil one is
// [FIFO]. Usage returns what the scheduler of the loop holds, all of it granted to the
// loop: it is [omega.Scheduler.Usage].
//
//	order, err := loop.NewByTurn(gate, 1, scheduler.Usage, loop.FIFO[string]())
//
// Errors: [drf.ErrWeight]; [resources.ErrNil] for no gate, or no usage.
func NewByTurn[K any](g *Gate, weight float64, usage func() resources.Vector, order Order[K]) (*ByTurn[K], error) {
	switch {
	case g == nil || g.gate == nil:
		return nil, absent("gate")
	case usage == nil:
		return nil, absent("usage")
	case order == nil:
		order = FIFO[K]()
	}
	seat, err := g.gate.Join(weight)
	if err != nil {
		return nil, err
	}
	b := &ByTurn[K]{gate: g, order: order, member: &member{seat: seat, usage: usage}}
	g.join(b.member)
	return b, nil
}

// Leave takes the loop out of the gate, for good: it holds no other loop back. Safe for
// concurrent use.
func (b *ByTurn[K]) Leave() {
	if b.made() {
		b.gate.leave(b.member)
		b.seat.Leave()
		b.gate.admit()
	}
}

// Push brings in a job.
func (b *ByTurn[K]) Push(p *Pending[K]) {
	if b.made() {
		b.order.Push(p)
	}
}

// Next takes out the next job of the order, if it is the turn of the loop.
func (b *ByTurn[K]) Next() *Pending[K] {
	if !b.made() {
		return nil
	}
	if b.asked > 0 { // the turn came to nothing
		b.settled(b.on, 0, &outcome{})
	}
	for b.first == nil || b.first.Done() {
		if b.first = b.order.Next(); b.first == nil {
			if b.pending == 0 || !b.missed.Load() {
				b.rest()
			}
			return nil
		}
	}
	if b.asked == 0 && !b.ask() {
		b.refused.Store(true) // before it asks again: a change in between is not lost
		if !b.ask() {
			b.gate.wakeMembers()
			return nil
		}
		b.refused.Store(false)
	}
	b.gate.admit() // its share has grown
	p := b.first
	b.first, b.on = nil, p
	p.Ration(b.asked)
	return p
}

// ask asks for tasks of the first job until the gate refuses one, and reports whether it
// has admitted any.
func (b *ByTurn[K]) ask() bool {
	for _, m := range b.gate.all() {
		m.settle()
	}
	tasks := min(b.first.Left(), turn)
	b.need = b.first.job.Need
	if b.first.job.Gang {
		b.need, tasks = b.need.Scale(int64(b.first.Left())), 1
	}
	b.missed.Store(false)
	b.resting = false
	for b.asked < tasks {
		if yes, err := b.seat.Ask(b.need, b.now); err != nil || !yes {
			break
		}
		b.asked++
	}
	return b.asked > 0
}

// settled gives back to the gate what of a turn was not granted: see settler.
func (b *ByTurn[K]) settled(_ *Pending[K], found int, o *outcome) {
	if b.asked == 0 {
		return
	}
	granted, refused := len(o.Granted), o.Refused
	if !o.committed {
		found = 0
	}
	if b.on.job.Gang {
		granted, refused, found = min(granted, 1), min(refused, 1), min(found, 1)
	}
	b.keep(b.need.Scale(int64(granted)))
	for range granted {
		b.seat.Keep()
	}
	// Undo fails only for a seat that has left, whose charges no longer count.
	_ = b.seat.Undo(b.need.Scale(int64(refused)))
	if missed := b.asked - found; missed > 0 { // last, since a task that is kept makes the seat wait
		_, _ = b.seat.Miss(b.need.Scale(int64(missed)), b.now)
		b.missed.Store(true)
	}
	b.asked, b.on = 0, nil
	b.gate.admit()
}

// rest says that the loop has no job to go.
func (b *ByTurn[K]) rest() {
	if !b.resting {
		b.resting = true
		b.missed.Store(false)
		b.seat.Rest()
		b.gate.admit()
	}
}

// Advance begins a step: see [Order].
func (b *ByTurn[K]) Advance(now time.Time) {
	if !b.made() {
		return
	}
	b.now = now
	if inner, ok := b.order.(advancer); ok {
		inner.Advance(now)
	}
}

// Held reports whether it is the turn of another loop: see [Order].
func (b *ByTurn[K]) Held(now time.Time, wake func()) (until time.Time, held bool) {
	if !b.made() {
		return time.Time{}, false
	}
	b.wake.CompareAndSwap(nil, &wake)
	switch inner, ok := b.order.(holder); {
	case b.first == nil && ok:
		return inner.Held(now, wake)
	case b.first == nil:
		return time.Time{}, false
	case !b.refused.Load():
		return now, true // another loop has let it go since
	}
	return now.Add(b.gate.patience), true
}

// moved is told that a job goes from one state to another.
func (b *ByTurn[K]) moved(p *Pending[K], from, to state) {
	if from.pending() != to.pending() {
		if to.pending() {
			b.pending++
		} else {
			b.pending--
		}
	}
	if inner, ok := b.order.(mover[K]); ok {
		inner.moved(p, from, to)
	}
}

// made reports whether b is made by [NewByTurn].
func (b *ByTurn[K]) made() bool { return b != nil && b.gate != nil }
