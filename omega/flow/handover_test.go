package flow_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/flow"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

// one is a slot, and all that most tests need.
var one = resources.Vector{1}

func starts(r flow.Report[name]) (all []name) {
	for _, s := range r.Start {
		all = append(all, s.Task)
	}
	return all
}

func stops(r flow.Report[name]) (all []name) {
	for _, s := range r.Stop {
		all = append(all, s.Task)
	}
	return all
}

// A preempted task keeps its room until its end is told. Then the task that the plan has
// put there gets it, not a rival that waits for it.
func TestRound_RoomGoesFromOneToTheOtherInOneStep(t *testing.T) {
	y := newYard(t, one, one)
	y.addJob(t, "a", 0, 1)
	y.addJob(t, "b", 0, 0)
	first := y.add(t, "a", one)
	y.round(t)
	second := y.add(t, "b", one)
	require.NoError(t, y.s.SetShares("a", 0, 0))
	require.NoError(t, y.s.SetShares("b", 0, 1))
	y.jobs["a"], y.jobs["b"] = [2]int{0, 0}, [2]int{0, 1}

	r := y.round(t)
	require.Equal(t, []flow.Stop[name]{{Task: first, Machine: machineAt(y.cell, 0), Reason: flow.Preempted}}, r.Stop)
	require.Empty(t, r.Start)
	require.Equal(t, 1, r.Running)
	e, err := y.s.Explain(second)
	require.NoError(t, err)
	require.Equal(t, []name{first}, e.Behind)
	require.False(t, y.take(t, machineAt(y.cell, 0), one, 0), "it runs still")
	y.addJob(t, "c", 0, 1)
	y.add(t, "c", one)
	r = y.round(t)
	require.Empty(t, append(stops(r), starts(r)...), "nobody else is stopped for it")
	require.Zero(t, r.Unfit, "or sent there")

	y.stopped(t, first)
	require.False(t, y.take(t, machineAt(y.cell, 0), one, 0), "its room is promised")
	r = y.round(t)
	require.Equal(t, []name{second}, starts(r))
	require.ErrorIs(t, y.s.Stopped(second), flow.ErrRuns)

	// What a task has that ends by itself goes the same way, also if it was told
	// to stop before.
	require.NoError(t, y.s.SetShares("a", 0, 1))
	require.NoError(t, y.s.SetShares("b", 0, 0))
	y.jobs["a"], y.jobs["b"] = [2]int{0, 1}, [2]int{0, 0}
	require.Equal(t, []name{second}, stops(y.round(t)))
	y.done(t, second)
	require.Equal(t, []name{first}, starts(y.round(t)))
	require.NoError(t, y.s.SetShares("c", 0, 0))
	y.done(t, first)
	y.round(t)
	require.True(t, y.take(t, machineAt(y.cell, 0), one, 0))
}

// Two tasks change places on full machines: both have to stop first, and each
// starts when the other has.
func TestRound_TasksSwapPlaces(t *testing.T) {
	y := newYard(t, one, one, one)
	y.addJob(t, "a", 0, 9)
	a, b := y.add(t, "a", one, 0), y.add(t, "a", one, 1)
	y.round(t)
	require.Equal(t, machineAt(y.cell, 0), y.tasks[a].on)
	for i, n := range []name{a, b} {
		y.tasks[n].input = []quincy.Block{{Bytes: 100 << 30, Nodes: nodes(1 - i)}} // now there is more elsewhere
		require.NoError(t, y.s.Update(n, y.now))
	}
	r := y.round(t)
	require.ElementsMatch(t, []name{a, b}, stops(r))
	require.Equal(t, flow.Moved, r.Stop[0].Reason)
	require.Empty(t, r.Start)
	y.stopped(t, a)
	require.Empty(t, y.round(t).Start, "b is where a is to run, and a's end is not b's")
	y.stopped(t, b)
	require.ElementsMatch(t, []name{a, b}, starts(y.round(t)))
	require.Equal(t, machineAt(y.cell, 1), y.tasks[a].on)
	require.Equal(t, machineAt(y.cell, 0), y.tasks[b].on)
}

// A task that is to move to free room has it before it is told to stop. If a rival is
// faster, it stays where it is, and so does the task that was to come in its stead.
func TestRound_ATaskThatCannotMoveStays(t *testing.T) {
	y := newYard(t, one, one, one)
	y.addJob(t, "a", 0, 9)
	a := y.add(t, "a", one, 0)
	y.round(t)
	y.pass(t, 2*time.Second)
	y.tasks[a].input = []quincy.Block{{Bytes: 100 << 30, Nodes: nodes(1)}}
	require.NoError(t, y.s.Update(a, y.now))
	b := y.add(t, "a", one, 0)
	y.asks, y.meddle = 1, func() { y.take(t, machineAt(y.cell, 1), one, 0) }
	r := y.round(t)
	require.Equal(t, 1, r.Conflicts)
	require.Empty(t, append(stops(r), starts(r)...))
	require.Equal(t, 1, r.Running)
	require.Equal(t, quincy.State{Running: true, On: 0, Since: 0, Racks: y.seen[a].Racks}, y.seen[a], "it has run all along")

	y.giveBack(t, 0)
	r = y.round(t)
	require.Equal(t, []name{a}, stops(r))
	require.Empty(t, r.Start)
	require.False(t, y.take(t, machineAt(y.cell, 1), one, 0), "it is reserved")
	y.stopped(t, a)
	require.ElementsMatch(t, []name{a, b}, starts(y.round(t)))
}

// Preemptions by others are told, with the time that is left. The victim's room counts as
// free for no task, and a task with a reservation is not started.
func TestRound_OthersPreempt(t *testing.T) {
	y := newYard(t, one, one)
	y.addJob(t, "a", 0, 9)
	a := y.add(t, "a", one, 99) // its data is far from everything
	y.round(t)
	y.add(t, "a", one, 0)
	require.True(t, y.take(t, machineAt(y.cell, 0), one, 1))
	r := y.round(t)
	require.Equal(t, []flow.Stop[name]{{Task: a, Machine: machineAt(y.cell, 0), Reason: flow.Taken, By: y.now.Add(5 * time.Second)}}, r.Stop)
	require.Equal(t, 2, r.Waiting)
	require.Empty(t, y.round(t).Stop, "once")
	y.giveBack(t, 0) // the rival has changed its mind; a runs still

	r = y.round(t)
	require.Equal(t, 1, r.Running)
	require.Empty(t, r.Start)
	require.Equal(t, y.now.Add(5*time.Second), r.Next, "who is placed waits for who is leaving")
	y.stopped(t, a)
	require.Len(t, starts(y.round(t)), 1, "a's end is acknowledged before")
}

// A task that is about to move when its old room is preempted is told, keeps its new
// room, and has waited since it was told to stop.
func TestRound_OthersPreemptAMovingTask(t *testing.T) {
	y := newYard(t, one, one, one)
	y.addJob(t, "a", 0, 9)
	a := y.add(t, "a", one, 0)
	y.round(t)
	y.tasks[a].input = []quincy.Block{{Bytes: 100 << 30, Nodes: nodes(1)}}
	require.NoError(t, y.s.Update(a, y.now))
	require.Equal(t, flow.Moved, y.round(t).Stop[0].Reason)
	y.pass(t, 10*time.Second)
	require.True(t, y.take(t, machineAt(y.cell, 0), one, 1))
	require.Equal(t, []flow.Stop[name]{{Task: a, Machine: machineAt(y.cell, 0), Reason: flow.Taken, By: y.now.Add(5 * time.Second)}}, y.round(t).Stop)
	y.pass(t, 10*time.Second) // by which it has stopped
	require.Equal(t, []name{a}, starts(y.round(t)))
	require.Equal(t, machineAt(y.cell, 1), y.tasks[a].on)
	require.Equal(t, int64(20), y.seen[a].Waited)
}

// A machine that is lost takes its tasks with it: there is nothing to stop, and
// they run elsewhere. One that drains keeps them and gets no others.
func TestRound_MachinesGoAndDrain(t *testing.T) {
	y := newYard(t, one, one, one)
	y.addJob(t, "a", 0, 9)
	a := y.add(t, "a", one, 0)
	y.round(t)
	require.NoError(t, y.cell.Drain(machineAt(y.cell, 1)))
	y.lose(t, machineAt(y.cell, 0))
	r := y.round(t)
	require.Equal(t, []flow.Stop[name]{{Task: a, Machine: machineAt(y.cell, 0), Reason: flow.Lost}}, r.Stop)
	require.Zero(t, y.s.Stats().Preempted)
	require.Empty(t, r.Start)
	require.ErrorIs(t, y.s.Stopped(a), flow.ErrRuns)
	id := y.addMachine(t, one)
	require.Equal(t, locality0, id.Node())
	require.Equal(t, []name{a}, starts(y.round(t)))
	require.Equal(t, id, y.tasks[a].on)

	require.NoError(t, y.cell.Drain(id))
	require.NoError(t, y.cell.Resume(machineAt(y.cell, 1)))
	b := y.add(t, "a", one, 0)
	r = y.round(t)
	require.Empty(t, r.Stop)
	require.Equal(t, []name{b}, starts(r))
	require.Equal(t, machineAt(y.cell, 1), y.tasks[b].on)
}

// A machine that goes while it is claimed is not claimed again.
func TestRound_MachineGoesUnderneath(t *testing.T) {
	y := newYard(t, one, one, one)
	y.addJob(t, "a", 0, 9)
	a := y.add(t, "a", one, 0)
	y.asks, y.meddle = 2, func() { y.lose(t, machineAt(y.cell, 0)) }
	told := y.events.Subscribe(3)
	require.Equal(t, 1, y.round(t).Conflicts)
	e, err := y.s.Explain(a)
	require.NoError(t, err)
	require.ErrorIs(t, e.Refused, omega.ErrRemoved)
	event := <-told.Events()
	require.ErrorIs(t, event.Err, omega.ErrRemoved)
	event.Err = nil
	require.Equal(t, observe.Event{Kind: observe.Refused, At: y.now, Source: "flow", Tenant: "a", Label: fmt.Sprint(a), Need: one}, event)
	require.Equal(t, observe.Round, (<-told.Events()).Kind)
	told.Close()
	require.Equal(t, []observe.Refusal{{Reason: "removed", Count: 1}}, y.s.Stats().Refused)
	require.Equal(t, []name{a}, starts(y.round(t)))
	require.Equal(t, machineAt(y.cell, 1), y.tasks[a].on)
}

// A task that waits for room goes elsewhere when the machine drains, or when the
// scheduler may claim it no more.
func TestRound_PromisesEndWithTheMachine(t *testing.T) {
	y := newYard(t, one, one)
	y.addJob(t, "a", 0, 9)
	a := y.add(t, "a", one, 9)
	y.round(t)
	b := y.add(t, "a", one, 0)
	y.tasks[b].input[0].Bytes = 40 << 30
	y.tasks[a].input[0].Bytes = 0
	second := y.addMachine(t, one)
	require.NoError(t, y.s.Update(a, y.now))
	require.NoError(t, y.s.Update(b, y.now))
	require.Equal(t, []name{a}, stops(y.round(t)), "it makes place for b")
	require.NoError(t, y.cell.Drain(machineAt(y.cell, 0)))
	y.stopped(t, a)
	r := y.round(t)
	require.Zero(t, r.Conflicts)
	require.Len(t, r.Start, 1)
	require.Equal(t, second, r.Start[0].Machine)
}

// The cost of waiting counts on over all that goes wrong, and work done from when
// it has begun.
func TestRound_WaitingAddsUp(t *testing.T) {
	y := newYard(t, one, one)
	y.addJob(t, "a", 0, 9)
	a := y.add(t, "a", one)
	y.pass(t, 10*time.Second)
	y.asks, y.meddle = 2, func() { y.take(t, machineAt(y.cell, 0), one, 0) }
	require.Equal(t, 1, y.round(t).Conflicts)
	require.Equal(t, int64(0), y.seen[a].Since)
	require.Equal(t, int64(0), y.seen[a].Waited)
	y.pass(t, 10*time.Second)
	y.giveBack(t, 0)
	require.Equal(t, []name{a}, starts(y.round(t)))
	require.Equal(t, int64(20), y.seen[a].Since)
	require.Equal(t, int64(20), y.seen[a].Waited)

	y.pass(t, 10*time.Second)
	y.take(t, machineAt(y.cell, 0), one, 1)
	y.round(t)
	require.Equal(t, int64(30), y.seen[a].Since)
	require.Equal(t, int64(20), y.seen[a].Waited)
	require.False(t, y.seen[a].Running)
	y.giveBack(t, 0)
	y.round(t) // a is placed, but runs still in the old place
	y.pass(t, 4*time.Second)
	y.stopped(t, a)
	require.Equal(t, []name{a}, starts(y.round(t)))
	require.Equal(t, quincy.State{Running: true, On: 0, Since: 34, Waited: 24, Racks: y.seen[a].Racks}, y.seen[a])
}

// A commit that fails is as if everything had been refused.
func TestRound_FailsAndGoesOn(t *testing.T) {
	y := newYard(t, one, one, one)
	y.addJob(t, "a", 0, 9)
	a := y.add(t, "a", one)
	y.round(t)
	b := y.add(t, "a", one)
	y.done(t, a)
	_, err := y.cell.Replace("flow")
	require.NoError(t, err)
	for range 2 {
		r, err := y.s.Round(context.Background(), y.now)
		require.ErrorIs(t, err, omega.ErrSuperseded)
		require.Empty(t, append(starts(r), stops(r)...))
		require.Equal(t, 1, r.Waiting)
	}
	e, err := y.s.Explain(b)
	require.NoError(t, err)
	require.ErrorIs(t, e.Refused, omega.ErrSuperseded)
}

// A round with an ended context plans nothing and gives back the ended allocations.
func TestRound_WithoutTimeToPlan(t *testing.T) {
	y := newYard(t, one, one)
	y.addJob(t, "a", 0, 9)
	a := y.add(t, "a", one, 99) // its data is far from everything
	y.round(t)
	y.add(t, "a", one, 0)
	y.done(t, a)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := y.s.Round(ctx, y.now)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, r.Start)
	require.True(t, y.take(t, machineAt(y.cell, 0), one, 0), "it is free")
	y.giveBack(t, 0)
	require.Len(t, y.round(t).Start, 1)
}
