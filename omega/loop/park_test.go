package loop_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

func TestStep_ParksAgainstTheMachinesThatThereAre(t *testing.T) {
	cell := newCell(t, 4, 4)
	r := newRig(t, cell, loop.Config[string]{})
	for tasks, name := range []string{"", "", "two", "three"} {
		if name == "" {
			continue
		}
		gang := job(name, tasks, 3)
		gang.Gang = true
		claimed := name == "two"
		if claimed {
			claim(t, register(t, cell, "other"), "m0", cell, 4)
		}
		r.submit(t, epoch, gang)
		r.settle(t, epoch)
	}
	require.Equal(t, []string{"two submitted", "two backed off", "three submitted", "three parked"}, r.log())
	m, _ := cell.Machine("m1")
	_, err := cell.Remove(m)
	require.NoError(t, err)
	next := r.settle(t, epoch)
	r.settle(t, next)
	require.Equal(t, []string{"two parked"}, r.log())
}

// A machine that drains does not hide the machines after it.
func TestStep_DoesNotPark_WhatFitsBehindADrainingMachine(t *testing.T) {
	cell := newCell(t, 1, 4)
	m, _ := cell.Machine("m0")
	require.NoError(t, cell.Drain(m))
	claim(t, register(t, cell, "other"), "m1", cell, 4)
	r := newRig(t, cell, loop.Config[string]{})
	r.submit(t, epoch, job("j", 1, 3))
	r.settle(t, epoch)
	require.Equal(t, []string{"j submitted", "j backed off"}, r.log())
}

func TestStep_ParkedJobsCostNothingWhileTheMachinesAreTheSame(t *testing.T) {
	cell, asked := newCell(t, 4), 0
	r := newRig(t, cell, loop.Config[string]{})
	picky := job("j", 1, 1)
	picky.Allow = func(locality.Node) bool { asked++; return false }
	r.submit(t, epoch, picky)
	next := r.settle(t, epoch)
	asked = 0
	r.settle(t, next)
	require.Zero(t, asked)
	_, err := cell.Add(omega.Machine{Name: "more"})
	require.NoError(t, err)
	r.settle(t, at(9))
	require.NotZero(t, asked)
}

func TestStep_ParksWhatCanNeverFitUntilMachinesChange(t *testing.T) {
	only := func(n locality.Node) func(locality.Node) bool {
		return func(m locality.Node) bool { return m == n }
	}
	tests := map[string]struct {
		job    loop.Job[string]
		change func(*testing.T, *omega.Cell)
	}{
		"a machine is added": {job("j", 1, 5), func(t *testing.T, cell *omega.Cell) {
			t.Helper()
			_, err := cell.Add(omega.Machine{Name: "large", Capacity: resources.Vector{5}})
			require.NoError(t, err)
		}},
		"a gang that was too wide": {
			loop.Job[string]{Key: "j", Tasks: 4, Need: resources.Vector{3}, Gang: true},
			func(t *testing.T, cell *omega.Cell) {
				t.Helper()
				for _, name := range []string{"x", "y"} {
					_, err := cell.Add(omega.Machine{Name: name, Capacity: resources.Vector{3}})
					require.NoError(t, err)
				}
			},
		},
		"a machine has grown": {job("j", 1, 5), func(t *testing.T, cell *omega.Cell) {
			t.Helper()
			m, _ := cell.Machine("m1")
			require.NoError(t, cell.SetCapacity(m, resources.Vector{6}))
		}},
		"a machine behind one that drains has grown": {job("j", 1, 5), func(t *testing.T, cell *omega.Cell) {
			t.Helper()
			m0, _ := cell.Machine("m0")
			require.NoError(t, cell.Drain(m0))
			m1, _ := cell.Machine("m1")
			require.NoError(t, cell.SetCapacity(m1, resources.Vector{6}))
		}},
		"a gang behind a machine that drains": {
			loop.Job[string]{Key: "j", Tasks: 3, Need: resources.Vector{3}, Gang: true},
			func(t *testing.T, cell *omega.Cell) {
				t.Helper()
				m0, _ := cell.Machine("m0")
				require.NoError(t, cell.Drain(m0))
				m1, _ := cell.Machine("m1")
				require.NoError(t, cell.SetCapacity(m1, resources.Vector{9}))
			},
		},
		"a machine is back": {
			loop.Job[string]{Key: "j", Tasks: 1, Need: resources.Vector{1}, Allow: only(1)},
			func(t *testing.T, cell *omega.Cell) {
				t.Helper()
				m, _ := cell.Machine("m1")
				require.NoError(t, cell.Resume(m))
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cell := newCell(t, 4, 4)
			if test.job.Allow != nil {
				m, _ := cell.Machine("m1")
				require.NoError(t, cell.Drain(m))
			}
			r := newRig(t, cell, loop.Config[string]{})
			r.submit(t, epoch, test.job)
			next := r.settle(t, epoch)
			require.Equal(t, at(1), next, "looked at again every second")
			require.ErrorIs(t, r.events[len(r.events)-1].Err, omega.ErrNeverFits)
			require.Equal(t, []string{"j submitted", "j parked"}, r.log())

			claim(t, register(t, cell, "other"), "m0", cell, 1)
			require.Equal(t, at(2), r.settle(t, next), "room is not what it waits for")
			require.Empty(t, r.log())
			require.Equal(t, 1, r.Stats().Parked)
			require.EqualValues(t, 1, r.Stats().Attempts, "parked jobs use up none")

			test.change(t, cell)
			require.Zero(t, r.settle(t, at(2)))
			log := r.log()
			require.Equal(t, "j unparked", log[0])
			require.Equal(t, "j complete", log[len(log)-1])
			require.NoError(t, cell.Check())
		})
	}
}

func TestRecheck_LooksAtOnce(t *testing.T) {
	allowed := false
	cell := newCell(t, 4)
	r := newRig(t, cell, loop.Config[string]{})
	moody := job("moody", 1, 1)
	moody.Allow = func(locality.Node) bool { return allowed }
	r.submit(t, epoch, moody)
	other := register(t, cell, "other")
	taken := claim(t, other, "m0", cell, 3)
	r.submit(t, epoch, job("large", 1, 4))
	r.submit(t, epoch, job("small", 1, 2))
	r.settle(t, epoch)
	require.Equal(t, []string{
		"moody submitted", "large submitted", "small submitted",
		"moody parked", "large backed off", "small backed off",
	}, r.log())

	allowed = true
	require.NoError(t, other.Release(taken))
	r.Recheck()
	r.settle(t, epoch)
	require.Equal(t, []string{
		"moody unparked", "moody placed 1", "moody complete", "small placed 1", "small complete",
	}, r.log(), "no attempt is spent on large")
}

func TestRecheck_IsPutOffWhileAnAttemptIsInProgress(t *testing.T) {
	allowed := false
	r := newRig(t, newCell(t, 4), loop.Config[string]{Think: think})
	moody := job("moody", 1, 1)
	moody.Allow = func(locality.Node) bool { return allowed }
	r.submit(t, epoch, moody)
	r.submit(t, epoch, job("j", 1, 1))
	r.step(t, epoch)
	r.step(t, at(0.105))
	r.step(t, at(0.105)) // j is being thought about
	r.log()
	allowed = true
	r.Recheck()
	r.step(t, at(0.15))
	r.step(t, at(0.21))
	require.Equal(t, []string{"j placed 1", "j complete"}, r.log())
	r.step(t, at(0.21))
	require.Equal(t, []string{"moody unparked"}, r.log())
}
