package offers_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// model is what a cell, a master and its frameworks should be like, kept in the
// plainest way: lists, and sums made anew each time.
type model struct {
	cell     *omega.Cell
	master   *offers.Master
	cfg      offers.Config
	optimist *omega.Scheduler // asks nobody, and preempts
	now      time.Time
	all      []*fw // in the order in which they registered
	names    int
	machines []omega.MachineID
	ended    map[offers.OfferID]error // what an answer to it fails with
	told     map[offers.OfferID]bool
	revoking time.Time // until then what is free may be kept for somebody
}

// fw is a framework of the model.
type fw struct {
	name      string
	h         *offers.Framework
	reg       offers.Registration
	connected bool
	until     time.Time // when it is given up, while it is away
	suppress  bool
	refused   bool      // since it accepted anything
	quiet     time.Time // until then back-off may hide more than its filters say
	offers    []offers.Offer
	tasks     map[omega.AllocationID]modelTask
	marked    []omega.AllocationID // preempted or lost
	filters   []modelFilter
}

type modelTask struct {
	machine omega.MachineID
	need    resources.Vector
}

type modelFilter struct {
	machine omega.MachineID
	room    resources.Vector
	until   time.Time
}

func newModel(t *rapid.T) *model {
	m := &model{
		now: start, ended: make(map[offers.OfferID]error), told: make(map[offers.OfferID]bool),
		cfg: offers.Config{
			Timeout: offers.For(time.Duration(rapid.IntRange(1, 20).Draw(t, "timeout")) * time.Second),
			Grace:   offers.For(3 * time.Second), Recovery: offers.For(4 * time.Second),
		},
	}
	var err error
	m.cell, err = omega.NewCell(omega.Config{})
	require.NoError(t, err)
	m.optimist, err = m.cell.Register("optimist", omega.Limits{Lowest: 5, Highest: 5})
	require.NoError(t, err)
	for range rapid.IntRange(1, 6).Draw(t, "machines") {
		m.add(t)
	}
	m.master, err = offers.New(m.cell, m.cfg, m.now)
	require.NoError(t, err)
	return m
}

func (m *model) add(t *rapid.T) {
	id, err := m.cell.Add(omega.Machine{
		Name:     fmt.Sprintf("m%d", len(m.machines)+len(m.ended)+m.names+rapid.IntRange(0, 1<<30).Draw(t, "name")),
		Capacity: resources.Vector{rapid.Int64Range(1, 10).Draw(t, "cpu"), rapid.Int64Range(0, 10).Draw(t, "memory")},
	})
	if err == nil { // else the name is taken
		m.machines = append(m.machines, id)
	}
}

// pickFramework returns one that somebody speaks for, or skips the action.
func (m *model) pickFramework(t *rapid.T) *fw {
	var there []*fw
	for _, f := range m.all {
		if f.connected {
			there = append(there, f)
		}
	}
	if len(there) == 0 {
		t.Skip("nobody is there")
	}
	return there[rapid.IntRange(0, len(there)-1).Draw(t, "framework")]
}

// pickOffer returns an outstanding offer and its place in the list.
func (m *model) pickOffer(t *rapid.T) (*fw, int) {
	f := m.pickFramework(t)
	if len(f.offers) == 0 {
		t.Skip("it has no offer")
	}
	return f, rapid.IntRange(0, len(f.offers)-1).Draw(t, "offer")
}

func (m *model) register(t *rapid.T, f *fw) {
	var err error
	f.h, err = m.master.Register(m.now, f.reg)
	require.NoError(t, err)
	f.connected, f.suppress, f.offers = true, false, nil
	var running []omega.AllocationID
	for a := range f.h.Tasks() {
		running = append(running, a.ID)
	}
	require.Len(t, running, len(f.tasks))
	for _, id := range running {
		require.Contains(t, f.tasks, id, "its tasks go on")
	}
}

// end takes an offer out of the model.
func (m *model) end(f *fw, i int, reason error) {
	m.ended[f.offers[i].ID] = reason
	f.offers = slices.Delete(f.offers, i, i+1)
}

// refuse hides room as the documentation says, back-off aside, which can only hide
// more.
func (f *fw) refuse(machine omega.MachineID, room resources.Vector, until time.Time) {
	f.filters = append(f.filters, modelFilter{machine, room, until})
}

func (f *fw) hidden(machine omega.MachineID, room resources.Vector, now time.Time) bool {
	return slices.ContainsFunc(f.filters, func(one modelFilter) bool {
		return one.machine == machine && now.Before(one.until) && room.Fits(one.room)
	})
}

// hasItsOwn tells whether a framework runs what it is guaranteed of all kinds that
// a task needs.
func (f *fw) hasItsOwn(of resources.Vector) bool {
	var sum resources.Vector
	for _, task := range f.tasks {
		sum = sum.Add(task.need)
	}
	for k, q := range of {
		if q > 0 && sum[k] < f.reg.Guaranteed[k] {
			return false
		}
	}
	return true
}

// unpromised returns what of the cell is guaranteed to nobody, and false if it
// can not keep what it has promised, since machines have gone.
func (m *model) unpromised() (left resources.Vector, ok bool) {
	for st := range m.cell.Machines() {
		left = left.Add(st.Capacity)
	}
	var promised resources.Vector
	for _, f := range m.all {
		promised = promised.Add(f.reg.Guaranteed)
	}
	return left.Sub(promised)
}

// step moves time, and ends what is due.
func (m *model) step(t *rapid.T, d time.Duration) {
	m.now = m.now.Add(d)
	require.NoError(t, m.master.Step(m.now))
	for _, f := range slices.Clone(m.all) {
		if f.connected {
			continue
		}
		// Nobody reads its news.
		for i := 0; i < len(f.offers); {
			if o := f.offers[i]; m.now.Before(o.Deadline) {
				i++
			} else {
				f.refuse(o.Machine, o.Room, m.now.Add(offers.DefaultRefuse))
				f.refused = true
				m.end(f, i, offers.ErrExpired)
			}
		}
		if !m.now.Before(f.until) {
			m.forget(f)
		}
	}
}

// away tells whether there is a framework whose news nobody reads.
func (m *model) away() bool {
	return slices.ContainsFunc(m.all, func(f *fw) bool { return !f.connected })
}

// forget ends a framework: nothing of it is left.
func (m *model) forget(f *fw) {
	for len(f.offers) > 0 {
		m.end(f, 0, offers.ErrRescinded)
	}
	m.all = slices.DeleteFunc(m.all, func(one *fw) bool { return one == f })
}

// read brings the model up to date with the news, and checks them.
func (m *model) read(t *rapid.T) {
	for _, f := range m.all {
		if !f.connected {
			continue
		}
		news, err := f.h.News(m.now)
		require.NoError(t, err)
		for _, mark := range news.Tasks {
			if slices.Contains(f.marked, mark.Allocation.ID) {
				continue // it is told again to who has come back
			}
			require.Contains(t, f.tasks, mark.Allocation.ID)
			delete(f.tasks, mark.Allocation.ID)
			f.marked = append(f.marked, mark.Allocation.ID)
			if mark.By == offers.DefaultName {
				require.True(t, f.hasItsOwn(mark.Allocation.Need), "it is left with less than it is guaranteed")
			}
		}
		for _, notice := range news.Revoked {
			require.Contains(t, f.tasks, notice.Task.ID)
		}
		for _, o := range news.Offers {
			if !m.told[o.ID] { // else it may be one that it has asked for
				require.False(t, f.suppress, "it wants none")
				require.False(t, f.hidden(o.Machine, o.Room, m.now), "it has refused that: %v", o)
				require.True(t, f.reg.Minimum.Fits(o.Room))
				require.True(t, f.reg.Machines.Has(o.Machine.Node()))
				require.True(t, m.cfg.Terms.Machines.Has(o.Machine.Node()), "it is not the master's to offer")
			}
			m.offered(t, f, o)
		}
		for _, a := range news.Answers {
			for _, o := range a.Offers {
				m.offered(t, f, o)
			}
		}
		for _, e := range news.Ended {
			i := slices.IndexFunc(f.offers, func(o offers.Offer) bool { return o.ID == e.Offer })
			require.GreaterOrEqual(t, i, 0, "an offer that it does not have has ended")
			o := f.offers[i]
			if e.Reason == offers.ErrExpired { //nolint:errorlint // it is this one and no other
				require.False(t, m.now.Before(o.Deadline))
				f.refuse(o.Machine, o.Room, m.now.Add(offers.DefaultRefuse))
				f.refused = true
			}
			m.end(f, i, e.Reason)
		}
	}
}

func (m *model) offered(t *rapid.T, f *fw, o offers.Offer) {
	if m.told[o.ID] {
		// It is told again to who has come back; else an ID is never given out twice.
		require.NotContains(t, m.ended, o.ID)
	}
	m.told[o.ID] = true
	require.True(t, o.Deadline.After(m.now))
	f.offers = append(f.offers, o)
}
