package flow_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// refill has the rival claim units on a machine until it is full, each for so many rounds.
func (y *yard) refill(t require.TestingT, m omega.MachineID, ends map[int]int, round, length int) {
	for range ends[round] {
		y.giveBack(t, 0)
	}
	for y.take(t, m, one, 0) {
		ends[round+length]++
	}
}

// One machine of 4, a task of 3, and another scheduler that refills each unit as it ends:
// the task starts within one length of an allocation after its patience.
func TestPatience_LargeTasksRunBesideASchedulerThatRefills(t *testing.T) {
	const length, patience, rounds = 4, 5, 200
	y := newYard(t, one, resources.Vector{4})
	y.patience, y.still = patience*time.Second, true
	y.begin(t)
	y.addJob(t, "a", 0, 9)
	ends := map[int]int{}
	large, started, grants := y.next, -1, 0
	for round := range rounds {
		before := len(y.theirs)
		y.refill(t, machineAt(y.cell, 0), ends, round, length)
		grants += max(0, len(y.theirs)-before)
		if round == 1 {
			require.Equal(t, large, y.add(t, "a", resources.Vector{3}))
		}
		y.round(t)
		if started < 0 && round > 0 && y.tasks[large].runs {
			started = round
		}
		y.pass(t, time.Second)
	}
	require.GreaterOrEqual(t, started, 1+patience)
	require.LessOrEqual(t, started, 1+patience+length+1, "and a round to be told")
}

// Of what a task had reserved nothing is left once it started elsewhere, or is gone.
func TestPatience_LeavesNoReservation(t *testing.T) {
	y := newYard(t, one, resources.Vector{4}, resources.Vector{4})
	y.patience, y.still = 3*time.Second, true
	y.begin(t)
	y.addJob(t, "a", 0, 9)
	for range 8 {
		require.True(t, y.take(t, machineAt(y.cell, len(y.theirs)/4), one, 0))
	}
	reserved := func() (names []string) {
		y.rival.Snapshot().Refresh(y.now)
		for r := range y.rival.Snapshot().Reservations() {
			names = append(names, r.Scheduler)
		}
		return names
	}
	seconds := func(n int) {
		for range n {
			y.round(t)
			y.pass(t, time.Second)
		}
	}
	large := y.add(t, "a", resources.Vector{4})
	seconds(5)
	require.Equal(t, []string{"flow"}, reserved())
	y.done(t, large)
	seconds(1)
	require.Empty(t, reserved(), "it is not wanted any more")

	large = y.add(t, "a", resources.Vector{4})
	seconds(5)
	require.Equal(t, []string{"flow"}, reserved())
	for len(y.theirs) > 0 {
		y.giveBack(t, 0)
	}
	seconds(2)
	require.True(t, y.tasks[large].runs)
	require.Empty(t, reserved())
}

// Allocations of another scheduler last longer than many patiences, end one after the
// other, and are refilled at once. The task starts all the same.
func TestPatience_IsEnoughHoweverLongAllocationsLast(t *testing.T) {
	const length, patience = 64, 3
	y := newYard(t, one, resources.Vector{4}, resources.Vector{4})
	y.patience, y.still = patience*time.Second, true
	y.begin(t)
	y.addJob(t, "a", 0, 9)
	ends := map[int]int{}
	for i := range 8 {
		require.True(t, y.take(t, machineAt(y.cell, i%2), one, 0))
		ends[1+i*length/8]++
	}
	large := y.add(t, "a", resources.Vector{4})
	// A machine is given up after 32 patiences, which is long enough, and then started on.
	const most = patience + 6*32*patience
	round := 1
	for ; !y.tasks[large].runs && round < 2*most; round++ {
		for range ends[round] {
			y.giveBack(t, 0)
		}
		for m := range 2 {
			for y.take(t, machineAt(y.cell, m), one, 0) {
				ends[round+length]++
			}
		}
		y.round(t)
		y.pass(t, time.Second)
	}
	require.LessOrEqual(t, round, most)
}
