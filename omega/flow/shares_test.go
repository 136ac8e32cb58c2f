package flow_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/resources"
)

func (y *yard) running(j job) (n int) {
	for _, t := range y.names {
		if w := y.tasks[t]; w.Job == j && w.runs && !w.stop {
			n++
		}
	}
	return n
}

// settle has rounds until nothing changes, and what is to stop stops at once.
func (y *yard) settle(t require.TestingT) {
	for most := 20; ; most-- {
		require.Positive(t, most, "rounds until nothing changes")
		r := y.round(t)
		for _, n := range stops(r) {
			if y.tasks[n].runs {
				y.stopped(t, n)
			}
		}
		if len(r.Start)+len(r.Stop)+r.Conflicts == 0 {
			return
		}
	}
}

// Whatever the rival takes: of each job at most F run, and at least E or as many
// as all jobs can have.
func TestRound_KeepsShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		machines := rapid.IntRange(1, 4).Draw(t, "machines")
		y := newYard(t, one)
		for range machines {
			y.addMachine(t, resources.Vector{3})
		}
		jobs := []job{"a", "b", "c"}
		tasks := map[job]int{}
		for _, j := range jobs {
			low := rapid.IntRange(0, 4).Draw(t, "E")
			y.addJob(t, j, low, low+rapid.IntRange(0, 6).Draw(t, "more"))
		}
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			for _, j := range jobs {
				for range rapid.IntRange(0, 4).Draw(t, "tasks") {
					y.add(t, j, one)
					tasks[j]++
				}
			}
			switch m := machineAt(y.cell, rapid.IntRange(0, machines-1).Draw(t, "machine")); {
			case rapid.Bool().Draw(t, "takes"):
				y.take(t, m, resources.Vector{rapid.Int64Range(1, 3).Draw(t, "need")}, 1)
			case len(y.theirs) > 0:
				y.giveBack(t, 0)
			}
			y.settle(t)
			ours, due := int64(0), 0
			for _, m := range y.states() {
				ours += m.Free[0]
			}
			for _, n := range y.names {
				if w := y.tasks[n]; w.runs {
					ours++
				}
			}
			for _, j := range jobs {
				due += min(y.jobs[j][0], tasks[j])
			}
			level := 99
			for due > int(ours) {
				level, due = level-1, 0
				for _, j := range jobs {
					due += min(y.jobs[j][0], tasks[j], level)
				}
			}
			for _, j := range jobs {
				require.LessOrEqual(t, y.running(j), y.jobs[j][1], "F of %s", j)
				require.GreaterOrEqual(t, y.running(j), min(y.jobs[j][0], tasks[j], level), "E of %s, %d slots", j, ours)
			}
		}
	})
}

// What a job is due does not count tasks that fit nowhere: other jobs have theirs.
func TestRound_SharesOfTasksThatFitNowhere(t *testing.T) {
	y := newYard(t, one, resources.Vector{2})
	y.addJob(t, "a", 1, 2)
	y.addJob(t, "b", 1, 2)
	y.add(t, "a", resources.Vector{9})
	for range 2 {
		y.add(t, "b", one)
	}
	y.settle(t)
	require.Equal(t, 2, y.running("b"))
	y.add(t, "a", one)
	y.settle(t)
	require.Equal(t, 1, y.running("a"))
	require.Equal(t, 1, y.running("b"))
}

// The tasks that are due to a job count beside one that fits nowhere, though it costs
// work.
func TestRound_SharesBesideTasksThatFitNowhere(t *testing.T) {
	y := newYard(t, one, resources.Vector{2})
	y.addJob(t, "a", 1, 2)
	y.addJob(t, "b", 1, 2)
	y.addJob(t, "c", 0, 2)
	for range 2 {
		y.add(t, "c", one, 0)
	}
	y.settle(t)
	y.pass(t, 1000*time.Second)
	y.add(t, "a", resources.Vector{9})
	y.add(t, "b", one, 9)
	y.settle(t)
	require.Equal(t, 1, y.running("b"))
	require.Equal(t, 1, y.running("c"))
}

// Two jobs are due a task each, and each task fits one machine alone, but they do not fit
// together. The running one goes on, and nothing else stops for the other.
func TestRound_SharesThatCannotBothBeMet(t *testing.T) {
	y := newYard(t, resources.Vector{2}, resources.Vector{3}, resources.Vector{2}, resources.Vector{2})
	y.addJob(t, "a", 1, 2)
	y.addJob(t, "b", 1, 2)
	y.addJob(t, "c", 1, 2)
	y.add(t, "a", resources.Vector{3})
	y.add(t, "b", resources.Vector{3})
	y.add(t, "c", resources.Vector{2})
	y.settle(t)
	require.Equal(t, 2, y.running("a")+y.running("b")+y.running("c"))
	require.Equal(t, 1, y.running("c"))
}

// A task without an arc to wait runs on, whatever the shares.
func TestRound_ATaskThatCannotWaitIsNotPreempted(t *testing.T) {
	y := newYard(t, one, one)
	y.addJob(t, "a", 0, 1)
	a := y.add(t, "a", one)
	y.round(t)
	y.stay = true
	require.NoError(t, y.s.Update(a, y.now))
	require.NoError(t, y.s.SetShares("a", 0, 0))
	require.Empty(t, y.round(t).Stop)
	y.stay = false
	require.NoError(t, y.s.Update(a, y.now))
	y.jobs["a"] = [2]int{}
	r, err := y.s.Round(t.Context(), y.now)
	require.NoError(t, err)
	require.Equal(t, []name{a}, stops(r))
}
