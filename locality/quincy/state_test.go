package quincy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// The wait of a task adds up over restarts, and does not grow while it runs: also
// if it is preempted, moved, or loses its machine.
func TestState_WaitingAddsUpOverRestarts(t *testing.T) {
	var seen quincy.State
	var at, out int64 // costs to stay, and to wait
	to := locality.Node(4)
	p, err := quincy.New[string](quincy.Config[int]{Verify: true, Arcs: func(arcs []quincy.Arc, _ int, s quincy.State, _ int64) []quincy.Arc {
		seen = s
		if s.Running {
			arcs = append(arcs, quincy.Arc{To: quincy.OnMachine(s.On), Cost: at})
		}
		if !s.Running || s.On != to {
			arcs = append(arcs, quincy.Arc{To: quincy.OnMachine(to), Cost: 1})
		}
		return append(arcs, quincy.Arc{To: quincy.Unscheduled(), Cost: out})
	}})
	require.NoError(t, err)
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 4, Slots: 1}))
	require.NoError(t, p.AddJob("j", 0, 1))
	out = 9
	require.NoError(t, p.AddTask(0, "j", 100))
	plan := func(now int64) {
		t.Helper()
		require.NoError(t, p.UpdateTask(0, now))
		_, err := p.Plan(t.Context(), now)
		require.NoError(t, err)
	}
	is := func(want quincy.State) {
		t.Helper()
		want.Racks = seen.Racks
		require.Equal(t, want, seen)
	}
	is(quincy.State{Since: 100})
	plan(107)
	is(quincy.State{Running: true, On: 4, Since: 107, Waited: 7})

	at, out = 9, 0 // it is preempted
	require.NoError(t, p.SetShares("j", 0, 0))
	plan(120)
	is(quincy.State{Since: 120, Waited: 7})
	plan(125)
	is(quincy.State{Since: 120, Waited: 7})

	at, out = 0, 9
	require.NoError(t, p.SetShares("j", 0, 1))
	plan(130)
	is(quincy.State{Running: true, On: 4, Since: 130, Waited: 17})

	require.NoError(t, p.AddMachine(quincy.Machine{Node: 5, Slots: 1}))
	at, to = 5, 5 // it moves, and has not waited
	plan(140)
	is(quincy.State{Running: true, On: 5, Since: 140, Waited: 17})

	to = 4
	require.NoError(t, p.RemoveMachine(5, 150))
	is(quincy.State{Since: 150, Waited: 17})
	plan(151)
	is(quincy.State{Running: true, On: 4, Since: 151, Waited: 18})
}

// A machine that could not be removed is still in its rack, as calls of Arcs show.
func TestRemoveMachine_ThatFailsLeavesTheRacks(t *testing.T) {
	var racks *quincy.Racks
	bad := false
	p, err := quincy.New[string](quincy.Config[int]{Arcs: func(arcs []quincy.Arc, _ int, s quincy.State, _ int64) []quincy.Arc {
		racks = s.Racks
		if bad {
			return arcs
		}
		return append(arcs, quincy.Arc{To: quincy.OnMachine(2)}, quincy.Arc{To: quincy.Unscheduled(), Cost: 5})
	}})
	require.NoError(t, err)
	for n := range 3 {
		require.NoError(t, p.AddMachine(quincy.Machine{Node: locality.Node(n), Rack: quincy.Rack(n / 2), Slots: 1}))
	}
	require.NoError(t, p.AddJob("j", 0, 1))
	require.NoError(t, p.AddTask(0, "j", 0))
	bad = true
	require.ErrorIs(t, p.RemoveMachine(2, 1), quincy.ErrArc)
	require.Equal(t, []locality.Node{2}, racks.Nodes(1))
	require.Equal(t, []locality.Node{0, 1}, racks.Nodes(0))
	rack, ok := racks.Of(2)
	require.True(t, ok)
	require.Equal(t, quincy.Rack(1), rack)
	plan, err := p.Plan(t.Context(), 0) // the time has not passed either
	require.ErrorIs(t, err, quincy.ErrArc)
	require.Equal(t, []quincy.Change[int]{{Task: 0, To: 2}}, plan.Changes)

	// One that is removed is not.
	require.NoError(t, p.RemoveMachine(1, 1))
	require.Equal(t, []locality.Node{0}, racks.Nodes(0))
	require.NoError(t, p.RemoveMachine(0, 1))
	require.Empty(t, racks.Nodes(0))
}

// A rack goes with its last machine, so that any number of different ones come and
// go. Tasks with an arc to it are asked again; while one still has it, the machine
// stays.
func TestRemoveMachine_TakesItsRackAlong(t *testing.T) {
	arcs := []quincy.Arc{{To: quincy.InRack(1)}, {To: quincy.Cluster(), Cost: 1}, {To: quincy.Unscheduled(), Cost: 5}}
	asked := 0
	p, err := quincy.New[string](quincy.Config[int]{Verify: true, Arcs: func(to []quincy.Arc, _ int, s quincy.State, _ int64) []quincy.Arc {
		asked++
		if s.Running {
			to = append(to, quincy.Arc{To: quincy.OnMachine(s.On), Cost: 3})
		}
		return append(to, arcs...)
	}})
	require.NoError(t, err)
	for n := range locality.Node(2) {
		require.NoError(t, p.AddMachine(quincy.Machine{Node: n, Rack: quincy.Rack(n), Slots: 1}))
	}
	require.NoError(t, p.AddJob("j", 0, 9))
	require.NoError(t, p.AddTask(0, "j", 0))
	require.ErrorIs(t, p.RemoveMachine(1, 0), quincy.ErrUnknown)
	plan, err := p.Plan(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, []quincy.Change[int]{{Task: 0, To: 1}}, plan.Changes)
	require.ErrorIs(t, p.RemoveMachine(1, 0), quincy.ErrUnknown)
	plan, err = p.Plan(t.Context(), 0)
	require.NoError(t, err)
	require.Empty(t, plan.Changes)

	arcs, asked = arcs[1:], 0
	require.NoError(t, p.RemoveMachine(1, 0))
	require.Equal(t, 1, asked)
	for rack := range quincy.Rack(70_000) {
		require.NoError(t, p.AddMachine(quincy.Machine{Node: 7, Rack: 1 + rack, Slots: 1}))
		require.NoError(t, p.RemoveMachine(7, 0))
	}
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 8, Rack: 8, Slots: 1}))
	require.NoError(t, p.AddTask(1, "j", 0))
	plan, err = p.Plan(t.Context(), 0)
	require.NoError(t, err)
	var dot strings.Builder
	require.NoError(t, p.WriteDOT(&dot))
	require.Equal(t, 2, strings.Count(dot.String(), "rack "), dot.String())
}

// Arcs is called when the plan changes a task, and not when a task stays at its
// place, though it sits at the cluster.
func TestPlan_DoesNotAskTasksThatStay(t *testing.T) {
	asked := 0
	p, err := quincy.New[string](quincy.Config[int]{Verify: true, Arcs: func(arcs []quincy.Arc, _ int, s quincy.State, _ int64) []quincy.Arc {
		asked++
		if s.Running {
			arcs = append(arcs, quincy.Arc{To: quincy.OnMachine(s.On), Cost: 5})
		}
		return append(arcs, quincy.Arc{To: quincy.Cluster(), Cost: 1}, quincy.Arc{To: quincy.Unscheduled(), Cost: 9})
	}})
	require.NoError(t, err)
	for n := range locality.Node(3) {
		require.NoError(t, p.AddMachine(quincy.Machine{Node: n, Slots: 1}))
	}
	require.NoError(t, p.AddJob("j", 0, 9))
	for task := range 3 {
		require.NoError(t, p.AddTask(task, "j", 0))
	}
	for now := range int64(4) {
		plan, err := p.Plan(t.Context(), now)
		require.NoError(t, err)
		require.Equal(t, int64(3), plan.Cost)
		require.Equal(t, 6, asked)
	}
}

// A machine and a rack are preferred that hold a tenth of the input, and not a
// byte less.
func TestDataCosts_PreferFromATenthOn(t *testing.T) {
	var got []quincy.Arc
	in := make([]quincy.Block, 2)
	p, err := quincy.New[string](quincy.Config[int]{Arcs: func(arcs []quincy.Arc, _ int, s quincy.State, now int64) []quincy.Arc {
		got = quincy.DataCosts{}.Arcs(nil, in, s, now)
		return append(arcs, got...)
	}})
	require.NoError(t, err)
	for n := range 2 {
		require.NoError(t, p.AddMachine(quincy.Machine{Node: locality.Node(n), Rack: quincy.Rack(n), Slots: 1}))
	}
	require.NoError(t, p.AddJob("j", 0, 1))
	require.NoError(t, p.AddTask(0, "j", 0))
	for _, all := range []int64{10, 11, 19, 20, 21, 1 << 40} {
		for _, part := range []int64{all/10 - 1, all / 10, all/10 + 1} {
			in[0] = quincy.Block{Bytes: all - part, Nodes: []locality.Node{0}}
			in[1] = quincy.Block{Bytes: part, Nodes: []locality.Node{1}}
			require.NoError(t, p.UpdateTask(0, 0))
			preferred := part > 0 && 10*part >= all
			require.Equal(t, preferred, slices.Contains(got, quincy.Arc{To: quincy.OnMachine(1)}), "%d of %d", part, all)
			require.Equal(t, preferred, slices.Contains(got, quincy.Arc{To: quincy.InRack(1)}), "%d of %d", part, all)
		}
	}
}

// A task may have run for as long as there is time, and no longer.
func TestAddRunning_SinceLongAgo(t *testing.T) {
	const maxTime = 1 << 28
	p, err := quincy.New[string](quincy.Config[int]{Arcs: func(arcs []quincy.Arc, _ int, s quincy.State, now int64) []quincy.Arc {
		return quincy.DataCosts{Work: 1, Unscheduled: 9}.Arcs(arcs, nil, s, now)
	}})
	require.NoError(t, err)
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 4, Slots: 2}))
	require.NoError(t, p.AddJob("j", 0, 2))
	require.NoError(t, p.AddRunning(0, "j", 4, 5-maxTime, 0, 5))
	require.EqualError(t, p.AddRunning(1, "j", 4, 4-maxTime, 0, 5), "quincy: task 1: runs since -268435452, want -268435451 to 5: bad time")
	plan, err := p.Plan(t.Context(), maxTime)
	require.NoError(t, err)
	require.Empty(t, plan.Changes)
	require.Equal(t, int64(5-2*maxTime), plan.Cost)
}
