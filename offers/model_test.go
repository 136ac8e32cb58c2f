package offers_test

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// model is the state that a cell, a master and its frameworks should have, kept in the
// plainest way: lists, and sums made anew each time. It does not know to which framework
// room is offered, which is learned from the news and judged, but all else.
type model struct {
	cell     *omega.Cell
	master   *offers.Master
	cfg      offers.Config    // with the terms that hold now
	grace    time.Duration    // that frameworks have to end tasks
	optimist *omega.Scheduler // works without a master, and preempts
	now      time.Time
	busy     bool // frameworks leave little of what they are offered
	settled  bool // the master has seen all that has happened, at this very time
	stepped  bool // the last action was a step

	all      []*fw // in the order in which they registered
	names    int
	weights  map[string]float64 // of roles
	machines []omega.MachineID  // in the cell
	added    int
	seen     map[omega.MachineID]omega.MachineState // what the master knows of them
	leave    map[omega.MachineID]time.Time          // which are to be left, by when

	ended   map[offers.OfferID]error // what an answer to it fails with
	told    map[offers.OfferID]bool
	notices []notice       // that were just read
	granted []offers.Offer // to requests, in the news that are being read

	attributes locality.Attributes
	special    map[locality.Node]bool // what they say of nodes
	specials   *locality.Constraints
	revokers   []revoker // requests that may have revoked something since the news were read
}

// fw is a framework of the model.
type fw struct {
	name     string
	h        *offers.Framework
	of       *offers.Master // that it registered with
	reg      offers.Registration
	promised resources.Vector       // what this master has guaranteed it
	short    resources.Vector       // of what it is guaranteed, as it was told
	meets    map[locality.Node]bool // which nodes met its constraints when the master looked
	bells    int                    // how often it was notified since it read its news

	watch      silence   // whether it calls
	here       bool      // it is not away
	until      time.Time // when it is given up, while it is away
	found      bool      // a new master has found its tasks, and waits for it
	asleep     bool      // and does not read its news
	drowsy     bool      // nor did so before: what is new may be old
	fresh      bool      // it has registered since, and is told again what stands
	suppressed bool
	refused    bool      // since it accepted anything
	quiet      time.Time // until then back-off may hide more than its filters say
	declines   int       // since it accepted anything: so often it has refused at least
	backed     []shade   // what it has to stand back from at least, whatever it asks for

	offers   []*room
	retell   []*room              // of these, what a new speaker is to be told
	perhaps  []*room              // and what it may be told, if it has not ended
	unclear  []*room              // that have ended, or others that are like them
	heard    []omega.AllocationID // the claims of those that it had read of when it fell asleep
	past     []offers.OfferID     // that have ended, the latest
	tasks    map[omega.AllocationID]task
	lost     map[omega.AllocationID]*loss // and not acknowledged
	filters  []shade
	requests map[offers.RequestID]offers.Request
	notices  map[omega.AllocationID]time.Time // which tasks are to be left by then
	asked    map[omega.MachineID]*inverse     // which machines it is asked to leave
}

// room is an outstanding offer.
type room struct {
	offers.Offer
	kept   bool // it is a claim in the cell; if not, it is optimistic
	doomed bool // its claim was taken away, or its machine
	gone   bool // the news say that it has ended

	unclear bool // it is like another one, of which one has ended
}

func (o *room) late(now time.Time) bool { return !o.Deadline.IsZero() && !now.Before(o.Deadline) }

type task struct {
	machine omega.MachineID
	need    resources.Vector
	long    bool // and the master knows
}

// loss is a task that was preempted or lost with its machine.
type loss struct {
	task
	by   string
	due  bool // a step has come to it
	told bool
}

// inverse is an inverse offer to a framework.
type inverse struct {
	told, answered bool
}

// shade is room that is hidden, and whatever is contained in it.
type shade struct {
	machine omega.MachineID
	room    resources.Vector
	until   time.Time
}

// revoker is a request that revokes.
type revoker struct {
	of *fw
	offers.Request
}

// newModel returns a cell with some machines, a master of given terms and some
// frameworks.
func newModel(t *rapid.T, busy bool, terms func(*rapid.T) offers.Terms) *model {
	m := &model{
		now: start, busy: busy, ended: make(map[offers.OfferID]error), told: make(map[offers.OfferID]bool),
		weights: make(map[string]float64), leave: make(map[omega.MachineID]time.Time),
		cfg: offers.Config{
			Timeout: offers.Never(), Recovery: offers.For(recovery),
			Terms: terms(t),
		},
	}
	if rapid.IntRange(0, 3).Draw(t, "grace") > 0 {
		m.grace = 3 * time.Second
	}
	m.cfg.Grace = offers.For(m.grace)
	if s := rapid.IntRange(1, 20).Draw(t, "timeout"); s < 20 {
		m.cfg.Timeout = offers.For(time.Duration(s) * time.Second)
	}
	m.cfg.Liveness = rapid.SampledFrom([]offers.Span{
		{}, offers.Never(), offers.For(time.Second), offers.For(10 * time.Second),
	}).Draw(t, "liveness")
	if rapid.IntRange(0, 3).Draw(t, "smallest") == 0 {
		m.cfg.Smallest = resources.Vector{2, 1}
	}
	if rapid.Bool().Draw(t, "capped") {
		m.cfg.LongOnMachine = rapid.SampledFrom([]int{0, 40, 50, 70}).Draw(t, "long on machine")
		m.cfg.LongInCell = rapid.SampledFrom([]int{0, 20, 30, 60}).Draw(t, "long in cell")
	}
	var err error
	m.cell, err = omega.NewCell(omega.Config{})
	require.NoError(t, err)
	m.optimist, err = m.cell.Register("optimist", omega.Limits{Lowest: 5, Highest: 5})
	require.NoError(t, err)
	m.describe(t)
	for range rapid.IntRange(1, 5).Draw(t, "machines") {
		m.add(t)
	}
	m.master, err = offers.New(m.cell, m.cfg, m.now)
	require.NoError(t, err)
	m.look()
	least := 0
	if m.busy {
		least = 3
	}
	for range rapid.IntRange(least, 3).Draw(t, "frameworks") {
		m.doRegister(t)
		m.read(t)
		if m.busy {
			m.fill(t)
		}
	}
	return m
}

// recovery is the time that a new master waits for frameworks.
const recovery = 4 * time.Second

// look notes what the master has just seen of the cell.
func (m *model) look() {
	m.seen = make(map[omega.MachineID]omega.MachineState)
	for st := range m.cell.Machines() {
		m.seen[st.ID] = st
	}
	m.settled = true
}

// step moves time, and ends what is due.
func (m *model) step(t *rapid.T, d time.Duration) {
	m.now = m.now.Add(d)
	require.NoError(t, m.master.Step(m.now))
	m.look()
	m.stepped = true
	for _, f := range m.all {
		m.meet(f)
	}
	m.listen()
	for _, f := range slices.Clone(m.all) {
		for _, l := range f.lost {
			l.due = f.here
		}
		if f.here {
			continue
		}
		// No framework reads its news.
		for _, o := range slices.Clone(f.offers) {
			if o.kept && o.doomed && len(f.alike(o)) <= m.claims(f, o) {
				o.doomed = false // it was another one
			}
			if o.doomed || m.seen[o.Machine].Condition == omega.Draining {
				m.endUnheard(f, o)
			} else if o.late(m.now) {
				m.lapse(f, o)
			}
		}
		if !m.now.Before(f.until) {
			m.forget(f)
		}
	}
}

// again verifies that a step is complete: another one at the same time changes nothing in
// the cell, tells no framework anything, and leaves nothing due.
func (m *model) again(t *rapid.T) {
	if !m.stepped {
		return
	}
	m.stepped = false
	next, due := m.master.Next()
	require.True(t, !due || next.After(m.now), "something is due at once after a step")
	before := m.allocations()
	require.NoError(t, m.master.Step(m.now))
	require.Equal(t, before, m.allocations(), "a second step at the same time does something")
	for _, f := range m.those(func(f *fw) bool { return f.here && !f.asleep }) {
		news, err := f.h.News(m.now)
		require.NoError(t, err)
		require.Equal(t, offers.News{}, news, "%s is told late", f.name)
		require.Zero(t, f.bells, "%s is notified late", f.name)
	}
}

// allocations returns all that the cell has.
func (m *model) allocations() (all []omega.Allocation) {
	return slices.Collect(m.cell.Allocations())
}

// pick returns a framework that is not away and reads the news, or skips the action.
func (m *model) pick(t *rapid.T) *fw {
	return one(t, "framework", m.those(func(f *fw) bool { return f.here && !f.asleep }))
}

func (m *model) those(are func(*fw) bool) []*fw {
	return slices.DeleteFunc(slices.Clone(m.all), func(f *fw) bool { return !are(f) })
}

// one draws one of several, and skips the action if there is none.
func one[T any](t *rapid.T, what string, of []T) T {
	if len(of) == 0 {
		t.Skip("no", what)
	}
	return of[rapid.IntRange(0, len(of)-1).Draw(t, what)]
}

// end takes an offer out of the model.
func (m *model) end(f *fw, o *room, reason error) {
	m.ended[o.ID] = reason
	f.past = append(f.past[max(0, len(f.past)-7):], o.ID)
	f.offers = slices.DeleteFunc(f.offers, func(one *room) bool { return one == o })
}

// endUnheard ends an offer of a framework that does not hear of that. Of several that are
// alike it may have been another one.
func (m *model) endUnheard(f *fw, o *room) {
	m.end(f, o, nil)
	if !o.kept {
		return
	}
	for _, twin := range f.alike(o) {
		twin.unclear, f.unclear = true, append(f.unclear, o)
	}
}

// alike returns the offers that keep as much of the same machine as one does.
func (f *fw) alike(o *room) (all []*room) {
	for _, one := range f.offers {
		if one.kept && one.Machine == o.Machine && one.Room == o.Room {
			all = append(all, one)
		}
	}
	return all
}

// claims counts what the cell has of offers that are like one.
func (m *model) claims(f *fw, o *room) (n int) {
	for _, a := range m.cell.AllocationsOn(o.Machine) {
		if a.Scheduler == offers.DefaultName && a.Account == accountOf(m.cell, f.name) && a.Need == o.Room {
			n++
		}
	}
	return n
}

// lapse ends an offer that was not answered.
func (m *model) lapse(f *fw, o *room) {
	m.end(f, o, offers.ErrExpired)
	if o.kept && !f.drowsy {
		f.refuse(o.Machine, o.Room, m.now.Add(offers.DefaultRefuse))
	}
	f.refused = f.refused || o.kept
}

// refuse hides room as the documentation says, back-off aside, which can only hide
// more.
func (f *fw) refuse(machine omega.MachineID, room resources.Vector, until time.Time) {
	f.filters = append(f.filters, shade{machine, room, until})
}

// standBack notes the room that back-off hides from a framework that declines offers.
func (m *model) standBack(f *fw, those []*room) {
	if len(those) > 0 {
		f.declines++
	}
	class := min(bits.Len(uint(f.declines)), 6)
	if class < 2 {
		return
	}
	until := m.now.Add(offers.DefaultInterval << (class - 2))
	for _, o := range those {
		f.backed = append(f.backed, shade{o.Machine, o.Room, until})
	}
}

func (f *fw) standsBack(machine omega.MachineID, room resources.Vector, now time.Time) bool {
	return covered(f.backed, machine, room, now)
}

func covered(by []shade, machine omega.MachineID, room resources.Vector, now time.Time) bool {
	return slices.ContainsFunc(by, func(one shade) bool {
		return one.machine == machine && now.Before(one.until) && room.Fits(one.room)
	})
}

func (f *fw) hidden(machine omega.MachineID, room resources.Vector, now time.Time) bool {
	return covered(f.filters, machine, room, now)
}

// forget ends a framework: nothing of it is left.
func (m *model) forget(f *fw) {
	for len(f.offers) > 0 {
		m.end(f, f.offers[0], offers.ErrRescinded)
	}
	m.all = slices.DeleteFunc(m.all, func(one *fw) bool { return one == f })
}

// needs returns what the tasks of a framework add up to.
func (f *fw) needs() (sum resources.Vector) {
	for _, one := range f.tasks {
		sum = sum.Add(one.need)
	}
	return sum
}

// offered returns what the offers that keep room add up to.
func (f *fw) offered() (sum resources.Vector) {
	for _, o := range f.offers {
		if o.kept {
			sum = sum.Add(o.Room)
		}
	}
	return sum
}

func (m *model) nextName() string {
	m.names++
	return fmt.Sprint("f", m.names)
}
