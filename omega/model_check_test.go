package omega_test

import (
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// check holds after every step.
func (m *modelled) check(t *rapid.T) {
	require.NoError(t, m.cell.Check())
	live := map[omega.AllocationID]omega.Allocation{}
	for id, a := range m.ref.held {
		if a.live {
			live[id] = a.Allocation
		}
	}
	got := map[omega.AllocationID]omega.Allocation{}
	for a := range m.cell.Allocations() {
		got[a.ID] = a
	}
	require.Equal(t, live, got)

	for _, o := range m.ref.owners {
		require.Equal(t, m.ref.usage(o), o.s.Usage())
		o.marks = slices.DeleteFunc(o.marks, func(mark omega.Mark) bool { return m.ref.held[mark.Allocation.ID] == nil })
		require.ElementsMatch(t, o.marks, slices.Collect(o.s.Marked()))
		own := slices.Collect(o.s.Allocations())
		require.Len(t, own, len(m.ref.allocations(func(a *refAllocation) bool { return a.live && a.owner == o })))
	}
	for _, account := range m.accounts {
		used, err := m.cell.Usage(account)
		require.NoError(t, err)
		require.Equal(t, sum(m.ref.allocations(func(a *refAllocation) bool { return a.live && a.Account == account })), used)
	}
	m.checkMachines(t)
	m.checkReady(t)
}

// checkMachines compares the machines as the cell, a cut and a snapshot have
// them.
func (m *modelled) checkMachines(t *rapid.T) {
	want := map[locality.Node]omega.MachineState{}
	for node, n := range m.ref.nodes {
		state, ok := m.cell.State(n.id)
		require.Equal(t, n.cond != omega.Removed, ok)
		wanted := omega.MachineState{
			Machine: n.Machine, ID: n.id, Condition: n.cond, Free: m.ref.free(node, nil),
			Live: len(m.ref.live(node)), Seq: n.seen.changes,
		}
		require.Equal(t, wanted, state)
		if ok {
			want[n.id.Node()] = wanted
		}
	}
	cut := map[locality.Node]omega.MachineState{}
	for state, allocations := range m.cell.Cut().Machines() {
		cut[state.ID.Node()] = state
		for _, a := range allocations {
			require.Equal(t, m.ref.held[a.ID].Allocation, a)
		}
		require.Len(t, allocations, state.Live)
	}
	require.Equal(t, want, cut)
	m.observer.Snapshot().Refresh(m.now)
	for node, n := range m.ref.nodes {
		free, ok := m.observer.Snapshot().Free(n.id)
		require.Equal(t, n.cond == omega.Ready, ok)
		if ok {
			require.Equal(t, m.ref.free(node, nil), free)
		}
	}
	seen := map[locality.Node]omega.MachineState{}
	for state := range m.observer.Snapshot().Machines() {
		seen[state.ID.Node()] = state
	}
	require.Equal(t, want, seen)
}

// checkReady looks at all the moments from now on at which an allocation stops or may
// start. The allocations that may be running then, if nothing else happens, are never
// more than the machine has. And none waits for an allocation that has gone already.
func (m *modelled) checkReady(t *rapid.T) {
	ready, moments := map[omega.AllocationID]time.Time{}, map[time.Time]bool{m.now: true}
	for id, a := range m.ref.held {
		at, err := m.cell.ReadyAt(id)
		require.NoError(t, err)
		ready[id] = at
		if !a.live && a.until.After(m.now) {
			moments[a.until] = true
		}
	}
	for id, at := range ready {
		if at.After(m.now) {
			require.Contains(t, slices.Collect(maps.Keys(moments)), at, "allocation %v waits for nobody", id)
		}
	}
	for _, n := range m.ref.nodes {
		if n.cond == omega.Removed || n.squeezed {
			continue
		}
		for moment := range moments {
			var running resources.Vector
			for id, a := range m.ref.held {
				if a.Machine == n.id {
					running = running.Add(a.runsAt(moment, ready[id]))
				}
			}
			require.True(t, running.Fits(n.Capacity), "at %v machine %q runs %v, more than its %v", moment, n.Name, running, n.Capacity)
		}
	}
}
