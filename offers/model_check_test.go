package offers_test

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// check compares what there is with the model.
func (m *model) check(t *rapid.T) {
	require.NoError(t, m.cell.Check())
	held := make(map[omega.MachineID]resources.Vector)
	for _, f := range m.all {
		var sum, offered resources.Vector
		for _, task := range f.tasks {
			sum = sum.Add(task.need)
			held[task.machine] = held[task.machine].Add(task.need)
		}
		for _, o := range f.offers {
			sum, offered = sum.Add(o.Room), offered.Add(o.Room)
			held[o.Machine] = held[o.Machine].Add(o.Room)
		}
		usage, err := m.cell.Usage(m.cell.Account(f.name))
		require.NoError(t, err)
		require.Equal(t, sum, usage, "what %s holds", f.name)
		if f.connected {
			known, outstanding := f.h.Held()
			require.Equal(t, sum, known, "what the master knows of %s", f.name)
			require.Equal(t, offered, outstanding)
		}
	}
	for a := range m.optimist.Allocations() {
		held[a.Machine] = held[a.Machine].Add(a.Need)
	}
	for st := range m.cell.Machines() {
		require.Equal(t, st.Capacity, held[st.ID].Add(st.Free), "machine %v: nothing is lost or doubled", st.ID)
	}
	m.checkOffered(t)
}

// checkOffered verifies that no room is idle that somebody wants: one that has
// answered all its offers, and has not declined since it last accepted.
func (m *model) checkOffered(t *rapid.T) {
	if m.now.Before(m.revoking) {
		return
	}
	for st := range m.cell.Machines() {
		for _, f := range m.all {
			if f.connected && !f.suppress && !f.refused && !m.now.Before(f.quiet) && len(f.offers) == 0 && st.Free != (resources.Vector{}) &&
				f.reg.Minimum.Fits(st.Free) && f.reg.Machines.Has(st.ID.Node()) && m.cfg.Terms.Machines.Has(st.ID.Node()) && !f.hidden(st.ID, st.Free, m.now) {
				require.Fail(t, "free room", "%v on machine %v, which %s wants", st.Free, st.ID, f.name)
			}
		}
	}
}

// finish ends everything: then all is free.
func (m *model) finish(t *rapid.T) {
	for _, f := range slices.Clone(m.all) {
		if f.connected {
			require.NoError(t, f.h.Unregister(m.now))
		}
	}
	m.step(t, time.Hour)
	for a := range m.optimist.Allocations() {
		require.NoError(t, m.optimist.Release(a.ID))
	}
	for st := range m.cell.Machines() {
		require.Equal(t, st.Capacity, st.Free)
		require.Zero(t, st.Live)
	}
	for id, reason := range m.ended {
		require.Error(t, reason, id)
	}
	require.NoError(t, m.cell.Check())
}
