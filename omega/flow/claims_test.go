package flow_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Two tasks are to come to a machine of which half is free, and the other half still
// belongs to a task that was told to stop. One is claimed, and the other one is not even
// tried before that end.
func TestRound_ClaimsNoMoreThanIsFree(t *testing.T) {
	y := newYard(t, one, resources.Vector{2})
	y.addJob(t, "a", 0, 1)
	y.addJob(t, "b", 0, 0)
	first := y.add(t, "a", one)
	y.round(t)
	second, third := y.add(t, "b", one), y.add(t, "b", one)
	require.NoError(t, y.s.SetShares("a", 0, 0))
	require.NoError(t, y.s.SetShares("b", 0, 2))
	y.jobs["a"], y.jobs["b"] = [2]int{0, 0}, [2]int{0, 2}

	r := y.round(t)
	require.Equal(t, []name{first}, stops(r))
	require.Len(t, r.Start, 1)
	require.Zero(t, r.Conflicts)
	require.Zero(t, r.Unfit)
	require.Equal(t, 2, r.Running, "by the plan")
	require.Equal(t, resources.Vector{2}, y.ours.Usage(), "with the one who runs still")
	for range 2 {
		r = y.round(t)
		require.Empty(t, r.Start)
		require.Zero(t, r.Conflicts)
	}
	y.stopped(t, first)
	r = y.round(t)
	require.Len(t, r.Start, 1)
	require.Zero(t, r.Conflicts)
	require.True(t, y.tasks[second].runs && y.tasks[third].runs)
}

// A machine has two slots, and room for one of two tasks that need more than a
// slot each. The plan sends both; one is promised the room, and the other one is
// told how much was left after that.
func TestRound_PromisesNoMoreThanThereIs(t *testing.T) {
	y := newYard(t, resources.Vector{2}, resources.Vector{4})
	y.addJob(t, "a", 0, 9)
	y.add(t, "a", resources.Vector{3})
	y.add(t, "a", resources.Vector{3})
	r := y.round(t)
	require.Len(t, r.Start, 1)
	require.Equal(t, 1, r.Unfit)
	require.Equal(t, 1, r.Running)
	require.Equal(t, 1, r.Waiting)
	for _, n := range y.names {
		if y.tasks[n].runs {
			continue
		}
		e, err := y.s.Explain(n)
		require.NoError(t, err)
		var room *omega.RefusalError
		require.ErrorAs(t, e.Refused, &room)
		require.Equal(t, resources.Vector{1}, room.Free)
	}
	require.Zero(t, y.round(t).Unfit, "nor is it sent there again")
}

// A task that stops as its job may have none is not spared, though no other task can use
// its room.
func TestRound_PreemptsBeyondTheShare(t *testing.T) {
	y := newYard(t, resources.Vector{4}, resources.Vector{4})
	y.addJob(t, "a", 0, 1)
	y.addJob(t, "b", 0, 1)
	small := y.add(t, "a", one)
	y.round(t)
	require.True(t, y.take(t, machineAt(y.cell, 0), resources.Vector{3}, 0))
	require.NoError(t, y.s.SetShares("a", 0, 0))
	require.NoError(t, y.s.SetShares("b", 1, 1))
	y.jobs["a"], y.jobs["b"] = [2]int{0, 0}, [2]int{1, 1}
	y.add(t, "b", resources.Vector{4})
	r := y.round(t)
	require.Equal(t, 1, r.Unfit)
	require.Equal(t, []name{small}, stops(r))
	require.Empty(t, r.Start)
}

// The report gives the first time at which a task can start that waits for a rival's
// victims, on any machine.
func TestRound_NextIsTheFirstOfAll(t *testing.T) {
	for node := range 2 {
		y := newYard(t, one, one, one)
		y.addJob(t, "a", 0, 9)
		for range 2 {
			y.add(t, "a", one, 99) // their data is far from everything
		}
		y.round(t)
		for n := range locality.Node(2) {
			y.add(t, "a", one, n)
		}
		first := y.now.Add(5 * time.Second)
		require.True(t, y.take(t, machineAt(y.cell, node), one, 1))
		y.pass(t, 2*time.Second)
		require.True(t, y.take(t, machineAt(y.cell, 1-node), one, 1))
		require.Len(t, y.round(t).Stop, 2)
		y.giveBack(t, 0)
		y.giveBack(t, 0)
		r := y.round(t)
		require.Empty(t, r.Start)
		require.Equal(t, 2, r.Running)
		require.Equal(t, first, r.Next)
		y.pass(t, 3*time.Second)
		require.Len(t, y.round(t).Start, 1)
	}
}

// Two jobs are due two tasks each, and one of two machines goes, where both of the
// second job ran: each has one of what is left.
func TestRound_SharesWhenAMachineIsLost(t *testing.T) {
	y := newYard(t, one, resources.Vector{2}, resources.Vector{2})
	for n, j := range []job{"a", "b"} {
		y.addJob(t, j, 2, 2)
		for range 2 {
			y.add(t, j, one, locality.Node(n))
		}
	}
	y.settle(t)
	require.Equal(t, 2, y.running("a"))
	require.Equal(t, 2, y.running("b"))
	y.lose(t, machineAt(y.cell, 1))
	y.settle(t)
	require.Equal(t, 1, y.running("a"))
	require.Equal(t, 1, y.running("b"))
}
