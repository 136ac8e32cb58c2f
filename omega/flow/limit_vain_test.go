package flow_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// What limits leave is not kept for a task that cannot run, however long it waits:
// no machine is large enough, or its job has its top.
func TestLimits_AreNotReservedForTasksThatCannotRun(t *testing.T) {
	for why, vain := range map[string]struct {
		need int64
		top  int
	}{"fits no machine": {5, 99}, "beyond its top": {4, 0}} {
		t.Run(why, func(t *testing.T) {
			y := newYard(t, one)
			for range 10 {
				y.addMachine(t, resources.Vector{4})
			}
			y.patience, y.still = 10*time.Second, true
			y.limit(t, held(6))
			y.addJob(t, "a", 0, 99)
			y.addJob(t, "b", 0, vain.top)
			y.add(t, "b", resources.Vector{vain.need})
			for range 20 {
				y.add(t, "a", one)
			}
			for second := range 40 {
				y.round(t)
				if second > 2 {
					require.GreaterOrEqual(t, y.running("a"), 5, "after %d s", second)
				}
				for _, n := range y.names {
					if y.tasks[n].runs {
						y.done(t, n)
						break
					}
				}
				y.add(t, "a", one)
				y.pass(t, time.Second)
			}
		})
	}
}

// obey runs so many rounds, a second apart; tasks that are to stop do so at once.
func (y *yard) obey(t require.TestingT, rounds int) {
	for range rounds {
		y.pass(t, time.Second)
		for _, n := range stops(y.round(t)) {
			y.stopped(t, n)
		}
	}
}

// The task that saves most, but has no machine, does not keep a running one from stopping
// for a task that has a machine.
func TestLimits_ALargerGainRunsBesideAnUnplacedTask(t *testing.T) {
	y := newYard(t, one, one, resources.Vector{9})
	require.True(t, y.take(t, machineAt(y.cell, 0), one, 0), "machine 0 is full")
	y.limit(t, held(1, 9))
	y.addJob(t, "a", 0, 9)
	y.addJob(t, "b", 0, 9)
	y.add(t, "a", one)
	y.round(t)
	tied := y.add(t, "b", resources.Vector{1, 9}, 0)
	y.tie = map[name]bool{tied: true}
	y.pass(t, time.Second)
	waits := y.add(t, "b", one)
	y.obey(t, 50)
	require.True(t, y.tasks[waits].runs)
}

// A job has its low within limits, though those of its tasks that come first by what
// they save have no machine to go to.
func TestLimits_MinimumCountsPlacedTasks(t *testing.T) {
	for size, need := range map[string]resources.Vector{"small": one, "large": {1, 9}} {
		t.Run(size, func(t *testing.T) {
			y := newYard(t, one, one, resources.Vector{9})
			require.True(t, y.take(t, machineAt(y.cell, 0), one, 0), "machine 0 is full")
			y.limit(t, held(2, 9))
			y.addJob(t, "a", 0, 9)
			y.addJob(t, "b", 1, 9)
			tied := y.add(t, "b", need, 0)
			y.tie = map[name]bool{tied: true}
			y.pass(t, time.Minute)
			y.add(t, "a", one)
			y.add(t, "a", one)
			y.pass(t, time.Minute)
			y.add(t, "b", one)
			y.obey(t, 50)
			require.Equal(t, 1, y.running("b"))
		})
	}
}
