package offers_test

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// The master of the model is told that time passes, which part of the cell is its
// own, which machines are to be left, and is replaced.

func (m *model) doStep(t *rapid.T) {
	m.step(t, time.Duration(rapid.IntRange(0, 6000).Draw(t, "ms"))*time.Millisecond)
}

// doWait lets time pass of which the master is not told.
func (m *model) doWait(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 4000).Draw(t, "ms")) * time.Millisecond)
	m.settled = false
}

// doTerms moves the border of what is offered.
func (m *model) doTerms(t *rapid.T) {
	terms := anyTerms(t)
	if terms.Optimistic != m.cfg.Terms.Optimistic {
		// Of unread offers the model could not tell of which kind they are.
		if len(m.those(func(f *fw) bool { return f.drowsy })) > 0 {
			t.Skip("somebody is asleep")
		}
	}
	m.cfg.Terms = terms
	require.NoError(t, m.master.SetTerms(m.now, terms))
}

// anyTerms draws terms of all kinds.
func anyTerms(t *rapid.T) (terms offers.Terms) {
	if rapid.IntRange(0, 2).Draw(t, "part") == 0 {
		terms.Machines = omega.Mask{rapid.Uint64Range(0, 255).Draw(t, "machines")}
	}
	if rapid.IntRange(0, 2).Draw(t, "percent") == 0 {
		terms.Percent = rapid.SampledFrom([]int{10, 50, 75, 100}).Draw(t, "of each")
	}
	terms.Optimistic = rapid.Bool().Draw(t, "optimistic")
	return terms
}

// doVacate asks frameworks with tasks on a machine to leave it, or does not ask any more.
func (m *model) doVacate(t *rapid.T) {
	machine := m.machine(t)
	if _, known := m.seen[machine]; !known {
		_, err := m.master.Vacate(m.now, machine, m.now)
		require.ErrorIs(t, err, omega.ErrUnknown)
		return
	}
	by := rapid.SampledFrom([]time.Time{{}, m.now.Add(time.Minute), m.now.Add(time.Hour)}).Draw(t, "by")
	asked, err := m.master.Vacate(m.now, machine, by)
	require.NoError(t, err)
	delete(m.leave, machine)
	want := 0
	for _, f := range m.all {
		delete(f.asked, machine)
		if by.IsZero() || len(f.on(machine)) == 0 {
			continue
		}
		if f.asked == nil {
			f.asked = make(map[omega.MachineID]*inverse)
		}
		f.asked[machine] = new(inverse)
		want++
	}
	if !by.IsZero() {
		m.leave[machine] = by
	}
	require.Equal(t, want, asked, "also those that are away")
}

// on returns the tasks of a framework on a machine.
func (f *fw) on(machine omega.MachineID) (ids []omega.AllocationID) {
	for id, one := range f.tasks {
		if one.machine == machine {
			ids = append(ids, id)
		}
	}
	return ids
}

func (m *model) doReply(t *rapid.T) {
	f, machine := m.pick(t), m.machine(t)
	i := f.asked[machine]
	agreed := rapid.Bool().Draw(t, "agreed")
	err := f.h.Reply(m.now, machine, agreed)
	if i == nil {
		require.ErrorIs(t, err, offers.ErrUnknown)
		return
	}
	require.NoError(t, err)
	i.answered = true
	require.Contains(t, m.master.Replies(machine), offers.Reply{Framework: f.name, Answered: true, Agreed: agreed})
}

// doFailOver kills the master: a new one starts from the cell, and from frameworks that
// come back to it, now or later or never.
func (m *model) doFailOver(t *rapid.T) {
	old := m.master
	var err error
	m.master, err = offers.New(m.cell, m.cfg, m.now)
	require.NoError(t, err)
	m.look()
	m.weights, m.leave = make(map[string]float64), make(map[omega.MachineID]time.Time)
	m.revokers = nil
	for id := range m.ended {
		m.ended[id] = offers.ErrUnknown // to this one
	}
	there := m.those(func(f *fw) bool { return f.here })
	for _, f := range m.all {
		m.fence(t, f)
		for len(f.offers) > 0 {
			m.end(f, f.offers[0], offers.ErrUnknown)
		}
		f.here, f.asleep, f.drowsy = false, false, false
		f.declines, f.backed = 0, nil
		f.filters, f.requests, f.asked, f.refused, f.promised = nil, nil, nil, false, resources.Vector{}
		f.until, f.found = m.now.Add(recovery), len(f.tasks) > 0
		m.knowLong(t, f)
	}
	for _, f := range slices.Clone(m.all) {
		switch {
		case slices.Contains(there, f) && rapid.IntRange(0, 3).Draw(t, "comes") > 0:
			if !m.register(t, f) { // others have been guaranteed more meanwhile, and it has no tasks
				m.forget(f)
			}
			m.read(t)
		case len(f.tasks) == 0:
			m.forget(f) // of which the new master knows nothing
		}
	}
	require.ErrorIs(t, old.Step(m.now.Add(time.Hour)), offers.ErrFenced)
}

// fence verifies that calls of the old master come too late.
func (m *model) fence(t *rapid.T, f *fw) {
	for _, o := range f.offers {
		if f.here && o.Room != (resources.Vector{}) {
			_, err := f.h.Accept(m.now, offers.Launch{
				Offers: []offers.OfferID{o.ID}, Tasks: []offers.Task{{Need: o.Room}},
			})
			require.Error(t, err)
		}
	}
}

// knowLong has a framework tell the next master which of its tasks are long, or not:
// until it registers the master does not know.
func (m *model) knowLong(t *rapid.T, f *fw) {
	f.reg.Long = nil
	tell := rapid.Bool().Draw(t, "long")
	for id, one := range f.tasks {
		if one.long && tell {
			f.reg.Long = append(f.reg.Long, id)
		}
		one.long = false
		f.tasks[id] = one
	}
	for _, l := range f.lost {
		l.long = false
	}
}
