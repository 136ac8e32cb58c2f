package flow_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A task larger than a slot goes where it fits now, though it is the last machine
// and dear, and is not moved from there.
func TestRound_LargeTasksGoWhereTheyFit(t *testing.T) {
	y := newYard(t, resources.Vector{2, 2}, resources.Vector{4, 4}, resources.Vector{4, 4}, resources.Vector{4, 8}, resources.Vector{8, 4})
	y.addJob(t, "a", 0, 99)
	for node := range 2 {
		m := machineAt(y.cell, node)
		y.take(t, m, resources.Vector{2, 0}, 0)
	}
	tall := y.add(t, "a", resources.Vector{1, 5}, 0, 1)
	wide := y.add(t, "a", resources.Vector{5, 1}, 0, 1)
	r := y.round(t)
	require.Zero(t, r.Unfit)
	require.Equal(t, machineAt(y.cell, 2), y.tasks[tall].on)
	require.Equal(t, machineAt(y.cell, 3), y.tasks[wide].on)

	// Both fitted anywhere else before they were there. No task is preempted for a third,
	// and the explanation says why.
	third := y.add(t, "a", resources.Vector{5, 1}, 2)
	r = y.round(t)
	require.Empty(t, append(stops(r), starts(r)...))
	e, err := y.s.Explain(third)
	require.NoError(t, err)
	require.Zero(t, e.Room.Fit)
	require.Equal(t, 3, e.Room.Small[0])
	require.Equal(t, 1, e.Room.Short[0])
	y.addMachine(t, resources.Vector{9, 9})
	y.pass(t, time.Second)
	r = y.round(t)
	require.Equal(t, []name{third}, starts(r))
	require.Empty(t, r.Stop)
}

// A large task that runs is not moved, though it would be better off elsewhere.
func TestRound_LargeTasksStay(t *testing.T) {
	y := newYard(t, one, resources.Vector{9})
	y.addJob(t, "a", 0, 99)
	large := y.add(t, "a", resources.Vector{5}, 0)
	y.round(t)
	y.addMachine(t, resources.Vector{9})
	y.tasks[large].input = []quincy.Block{{Bytes: 100 << 30, Nodes: nodes(1)}}
	require.Empty(t, y.round(t).Stop)
	require.True(t, y.tasks[large].runs)
}

// Where a machine has less room than a slot, the task that fits there gets it. A task of
// at most a slot does not wait longer for having been sent there first.
func TestRound_WhatIsLessThanASlotIsRoomToo(t *testing.T) {
	y := newYard(t, resources.Vector{4, 4}, resources.Vector{9, 1})
	y.addJob(t, "a", 0, 99)
	y.add(t, "a", resources.Vector{4, 4}, 0)
	flat := y.add(t, "a", resources.Vector{6, 1})
	y.round(t)
	y.round(t)
	require.True(t, y.tasks[flat].runs)
	y.done(t, flat)
	for range 2 {
		r := y.round(t)
		require.Equal(t, 1, r.Waiting)
		require.Zero(t, r.Unfit, "it is no slot")
	}
}

// An arc to a rack leads a large task to machines of that rack only, and those to
// the cluster lead many tasks to all that have room.
func TestRound_LargeTasksSpreadWithinTheirArcs(t *testing.T) {
	y := newYard(t, resources.Vector{2})
	for range 16 {
		y.addMachine(t, resources.Vector{3})
	}
	y.addJob(t, "a", 0, 99)
	y.take(t, machineAt(y.cell, 5), one, 0)
	near := y.add(t, "a", resources.Vector{3}, 5) // racks are of three
	y.round(t)
	require.Contains(t, []omega.MachineID{machineAt(y.cell, 3), machineAt(y.cell, 4)}, y.tasks[near].on)
	y.done(t, near)
	y.giveBack(t, 0)
	for range 16 {
		y.add(t, "a", resources.Vector{3})
	}
	require.Len(t, y.round(t).Start, 16)
}

// A slot is a slot, though the task in it needs less.
func TestRound_CountsSlots(t *testing.T) {
	y := newYard(t, resources.Vector{4}, resources.Vector{8})
	y.addJob(t, "a", 0, 99)
	for range 3 {
		y.add(t, "a", one)
	}
	for range 3 {
		require.Equal(t, 2, y.round(t).Running)
	}
}

// Many tasks of the same large need that fit one to a machine: as many rounds as
// machines, at most, and none is claimed for more than it has.
func TestRound_ClaimsNoMoreThanFits(t *testing.T) {
	y := newYard(t, one, resources.Vector{5}, resources.Vector{5}, resources.Vector{5})
	y.addJob(t, "a", 0, 99)
	for range 9 {
		y.add(t, "a", resources.Vector{3})
	}
	started := 0
	for range 3 {
		r := y.round(t)
		require.Zero(t, r.Conflicts)
		started += len(r.Start)
	}
	require.Equal(t, 3, started)
}

// In a machine squeezed by others, tasks hold less than slots. The task that is to come
// in the stead of a smaller one does not fit; so the smaller one stays.
func TestRound_PreemptsNoTaskWithoutUse(t *testing.T) {
	y := newYard(t, resources.Vector{4}, resources.Vector{4})
	y.addJob(t, "a", 0, 1)
	y.addJob(t, "b", 0, 1)
	small := y.add(t, "a", resources.Vector{1}, 9)
	y.round(t)
	require.True(t, y.take(t, machineAt(y.cell, 0), resources.Vector{3}, 0))
	require.NoError(t, y.s.SetShares("b", 1, 1)) // b has to run one
	large := y.add(t, "b", resources.Vector{4}, 0)
	r := y.round(t)
	require.Equal(t, 1, r.Unfit)
	require.Empty(t, append(stops(r), starts(r)...))
	e, err := y.s.Explain(large)
	require.NoError(t, err)
	var room *omega.RefusalError
	require.ErrorAs(t, e.Refused, &room)
	require.Equal(t, "m0", room.Name)
	require.Equal(t, machineAt(y.cell, 0), room.Machine)
	require.Equal(t, resources.Vector{4}, room.Need)
	require.Equal(t, resources.Vector{1}, room.Free)
	require.ErrorIs(t, e.Refused, omega.ErrNoRoom)
	require.EqualError(t, e.Refused, `omega: claim on "m0": need kind0=4, free kind0=1: no room`)
	require.True(t, y.tasks[small].runs)

	// When there is room for a slot again, it is preempted as it should.
	require.Empty(t, y.round(t).Stop)
	y.giveBack(t, 0)
	require.Equal(t, []name{small}, stops(y.round(t)))
}

// The same where it is a task of our own that squeezes: when that has ended.
func TestRound_PreemptsAgainWhenATaskHasEnded(t *testing.T) {
	y := newYard(t, resources.Vector{4, 1}, resources.Vector{4, 8})
	y.addJob(t, "a", 0, 9)
	y.addJob(t, "b", 1, 1)
	small := y.add(t, "a", one)
	y.round(t)
	large := y.add(t, "a", resources.Vector{3, 2})
	y.settle(t)
	require.True(t, y.tasks[large].runs)
	y.add(t, "b", resources.Vector{4})
	for range 3 {
		require.Empty(t, y.round(t).Stop)
	}
	y.done(t, large)
	require.Equal(t, []name{small}, stops(y.round(t)))
}

// Any needs on any machines, without others: as many rounds as tasks are enough for all
// to have run, if started tasks end.
func TestRound_EachPlacesATask(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y := newYard(t, draw(t, "slot", 4).Max(resources.Vector{1}))
		for range rapid.IntRange(1, 6).Draw(t, "machines") {
			y.addMachine(t, draw(t, "capacity", 9))
		}
		y.addJob(t, "a", 0, 99)
		for range rapid.IntRange(1, 12).Draw(t, "tasks") {
			if need := drawNeed(t, 9); y.fits(need) {
				y.add(t, "a", need, 0)
			}
		}
		for most := 2 * len(y.names); len(y.names) > 0; most-- {
			require.Positive(t, most, "rounds")
			r := y.round(t)
			for _, n := range starts(r) {
				y.done(t, n)
			}
			require.Empty(t, r.Stop)
		}
	})
}

// Tasks that no machine can hold, though they need no more than a slot, are found out
// once. They are not found out again at each end of a task: the room where they would be
// sent is room for others.
func TestRound_ATaskThatFitsNowhereBlocksNoOther(t *testing.T) {
	y := newYard(t, resources.Vector{2, 2}, resources.Vector{0, 6})
	y.addJob(t, "a", 1, 9)
	y.addJob(t, "b", 0, 9)
	for range 8 {
		y.add(t, "a", resources.Vector{2, 0})
	}
	large := resources.Vector{0, 6}
	b := y.add(t, "b", large)
	for rounds := 0; !y.tasks[b].runs; rounds++ {
		require.Less(t, rounds, 10)
		y.round(t)
	}
	for range 4 {
		y.done(t, b)
		b = y.add(t, "b", large)
		y.round(t)
		y.round(t)
		require.True(t, y.tasks[b].runs)
	}
	y.addMachine(t, resources.Vector{2, 2})
	require.Len(t, y.round(t).Start, 1, "now one of them fits")
}

// A task that waits for a whole slot is told where there is one, not where there
// would be room for less.
func TestExplain_SaysWhereThereIsASlot(t *testing.T) {
	y := newYard(t, resources.Vector{4}, resources.Vector{2}, resources.Vector{9})
	y.addJob(t, "a", 0, 9)
	y.take(t, machineAt(y.cell, 1), resources.Vector{6}, 0)
	small := y.add(t, "a", one)
	y.round(t)
	e, err := y.s.Explain(small)
	require.NoError(t, err)
	require.Zero(t, e.Room.Fit, "%v", e)
	require.Equal(t, 1, e.Room.Small[0])
	require.Equal(t, 1, e.Room.Short[0])
}

// A running task that was to move to a machine without room stays where it is for the
// next round. So the task that has the room there gets it.
func TestRound_ATaskWithoutRoomToMoveToStays(t *testing.T) {
	y := newYard(t, resources.Vector{4, 4}, resources.Vector{4, 4}, resources.Vector{5, 1})
	y.still = true
	y.addJob(t, "a", 0, 9)
	runs := y.add(t, "a", resources.Vector{4, 4}, 0)
	y.round(t)
	y.tasks[runs].input = []quincy.Block{{Bytes: 90 << 30, Nodes: nodes(1)}}
	require.NoError(t, y.s.Update(runs, y.now))
	large := y.add(t, "a", resources.Vector{5, 1})
	y.tasks[large].input = []quincy.Block{{Bytes: 90 << 30, Nodes: nodes(0)}} // it gains less there
	r := y.round(t)
	require.Equal(t, 1, r.Unfit)
	require.Empty(t, append(stops(r), starts(r)...))
	r = y.round(t)
	require.Zero(t, r.Unfit)
	require.Equal(t, []name{large}, starts(r))
	require.Empty(t, r.Stop)
}
