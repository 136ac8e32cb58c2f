package flow_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

func draw(t *rapid.T, label string, most int64) resources.Vector {
	return resources.Vector{rapid.Int64Range(0, most).Draw(t, label), rapid.Int64Range(0, most).Draw(t, label)}
}

// drawNeed is draw for a need, which is not zero.
func drawNeed(t *rapid.T, most int64) resources.Vector {
	need := draw(t, "need", most)
	if need == (resources.Vector{}) {
		need[0] = 1
	}
	return need
}

// Needs have any shape, and a rival takes room and preempts. No task runs on room that it
// does not have, and no job has more than its F. Once the others are still, every task
// runs that fits a machine.
func TestRound_NeverOvercommitsAndAllTasksRunInTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y := newYard(t, resources.Vector{2, 2})
		for range rapid.IntRange(1, 5).Draw(t, "machines") {
			y.addMachine(t, draw(t, "capacity", 8))
		}
		y.patience = time.Duration(rapid.IntRange(0, 3).Draw(t, "patience")) * time.Second
		y.begin(t)
		if rapid.Bool().Draw(t, "limited") {
			most := draw(t, "limit", 12)
			y.limit(t, omega.Limits{Held: &most})
		}
		y.addJob(t, "a", rapid.IntRange(0, 3).Draw(t, "E"), 5)
		y.addJob(t, "b", 0, rapid.IntRange(1, 9).Draw(t, "F"))
		pick := func(t *rapid.T, label string, n int) int { return rapid.IntRange(0, n-1).Draw(t, label) }
		machine := func(t *rapid.T) (omega.MachineState, bool) {
			all := y.states()
			if len(all) == 0 {
				return omega.MachineState{}, false
			}
			return all[pick(t, "machine", len(all))], true
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				for range rapid.IntRange(1, 4).Draw(t, "tasks") {
					j := rapid.SampledFrom([]job{"a", "b"}).Draw(t, "job")
					most := rapid.SampledFrom([]int64{2, 2, 8}).Draw(t, "large")
					y.add(t, j, drawNeed(t, most), locality.Node(pick(t, "data", 6)))
				}
			},
			"end": func(t *rapid.T) {
				if len(y.names) > 0 {
					y.done(t, y.names[pick(t, "task", len(y.names))])
				}
			},
			"stop": func(t *rapid.T) {
				for _, n := range y.names {
					if y.tasks[n].stop && rapid.Bool().Draw(t, "has") {
						y.stopped(t, n)
					}
				}
			},
			"take": func(t *rapid.T) {
				if m, ok := machine(t); ok {
					y.take(t, m.ID, drawNeed(t, 5), omega.Precedence(pick(t, "precedence", 3)))
				}
			},
			"return": func(t *rapid.T) {
				if len(y.theirs) > 0 {
					y.giveBack(t, pick(t, "which", len(y.theirs)))
				}
			},
			"join": func(t *rapid.T) { y.addMachine(t, draw(t, "capacity", 8)) },
			"lose": func(t *rapid.T) {
				if m, ok := machine(t); ok {
					y.lose(t, m.ID)
				}
			},
			"drain": func(t *rapid.T) {
				if m, ok := machine(t); ok {
					require.NoError(t, y.cell.Drain(m.ID))
				}
			},
			"resume": func(t *rapid.T) {
				if m, ok := machine(t); ok {
					require.NoError(t, y.cell.Resume(m.ID))
				}
			},
			"share": func(t *rapid.T) {
				low := rapid.IntRange(0, 2).Draw(t, "E")
				s := [2]int{low, low + rapid.IntRange(1, 5).Draw(t, "more")}
				require.NoError(t, y.s.SetShares("a", s[0], s[1]))
				y.jobs["a"] = s
			},
			"time": func(t *rapid.T) {
				y.round(t) // or no task would be told of the preemption
				y.pass(t, time.Duration(rapid.IntRange(0, 9).Draw(t, "seconds"))*time.Second)
			},
			"round": func(t *rapid.T) { y.round(t) },
			"race": func(t *rapid.T) { // the rival is faster
				m, ok := machine(t)
				if !ok {
					return
				}
				need, p := drawNeed(t, 5), omega.Precedence(pick(t, "precedence", 2))
				y.asks, y.meddle = rapid.IntRange(1, 6).Draw(t, "asks"), func() { y.take(t, m.ID, need, p) }
				switch rapid.IntRange(0, 5).Draw(t, "gone") {
				case 0:
					y.meddle = func() { y.lose(t, m.ID) }
				case 1: // and its number is another's
					y.meddle = func() { y.lose(t, m.ID); y.addMachine(t, need) }
				}
				y.round(t)
				y.asks = 0
			},
			"resize": func(t *rapid.T) {
				for range y.ours.Marked() {
					return // they may run still, in room that the cell does not count
				}
				if m, ok := machine(t); ok { // not below what is in use
					_ = y.cell.SetCapacity(m.ID, draw(t, "capacity", 8))
				}
			},
			"cancel": func(t *rapid.T) { // in the middle, or before
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				y.asks, y.meddle = rapid.IntRange(0, 6).Draw(t, "asks"), cancel
				if y.asks == 0 {
					cancel()
				}
				r, err := y.s.Round(ctx, y.now)
				y.asks = 0
				y.follow(t, r)
				if err != nil {
					require.ErrorIs(t, err, context.Canceled)
					return // shares are kept by plans
				}
				y.hold(t, r)
			},
			"replace": func(t *rapid.T) { y.replace(t) },
			"restrict": func(t *rapid.T) {
				require.NoError(t, y.ours.Restrict(t.Context(), omega.Mask{rapid.Uint64Range(0, 255).Draw(t, "mask")}))
			},
			"": func(t *rapid.T) { y.check(t) },
		})
		y.drain(t)
	})
}

// drain leaves the cell to our tasks and ends each as it has started, until no task waits
// that fits anywhere.
func (y *yard) drain(t require.TestingT) {
	for len(y.theirs) > 0 {
		y.giveBack(t, 0)
	}
	for _, m := range y.states() {
		require.NoError(t, y.cell.Resume(m.ID))
	}
	require.NoError(t, y.ours.Restrict(context.Background(), nil))
	y.round(t)
	for rounds, most := 0, 3*len(y.names)+10; ; rounds++ {
		require.Less(t, rounds, most, "rounds until all had run")
		y.pass(t, 10*time.Second)
		y.round(t)
		left := 0
		for _, n := range append([]name(nil), y.names...) {
			switch w := y.tasks[n]; {
			case w.runs:
				y.done(t, n)
			case y.fits(w.Need):
				left++
			}
		}
		if left == 0 {
			break
		}
	}
	for len(y.names) > 0 {
		y.done(t, y.names[0])
	}
	y.round(t)
	used, err := y.cell.Usage(accountOf(y.cell, "a"))
	require.NoError(t, err)
	more, err := y.cell.Usage(accountOf(y.cell, "b"))
	require.NoError(t, err)
	require.Zero(t, used.Add(more), "of tasks that have ended")
	for m := range y.ours.Marked() {
		require.Fail(t, "not acknowledged", "%v", m)
	}
}

// Two flow schedulers on a cell, one of which has its rounds in the midst of the other's.
// A task that is refused has its room in the next round, elsewhere.
func TestRound_OfTwoSchedulersAtATime(t *testing.T) {
	y := newYard(t, one, resources.Vector{4}, resources.Vector{4}, resources.Vector{4})
	other := newYard(t, one)
	other.cell = y.cell
	var err error
	other.ours, err = y.cell.Register("other", omega.Limits{})
	require.NoError(t, err)
	other.begin(t)
	conflicts := 0
	for _, each := range []*yard{y, other} {
		each.addJob(t, "a", 1, 9)
		for range 6 {
			each.add(t, "a", one, 0)
		}
	}
	for range 3 {
		y.asks, y.meddle = 7, func() { other.round(t) }
		conflicts += y.round(t).Conflicts
		y.pass(t, time.Second)
		other.pass(t, time.Second)
	}
	require.Positive(t, conflicts)
	require.Equal(t, 6, y.running("a"))
	require.Equal(t, 6, other.running("a"))
}

// What the scheduler may hold is less than there is: rounds claim as much as that,
// are refused the rest, and go on as tasks end.
func TestRound_WithinWhatTheSchedulerMayHold(t *testing.T) {
	y := newYard(t, one, resources.Vector{4})
	y.limit(t, omega.Limits{Held: &resources.Vector{2}})
	y.addJob(t, "a", 0, 9)
	for range 4 {
		y.add(t, "a", one, 0)
	}
	for left := 4; left > 0; left-- {
		r := y.round(t)
		require.Equal(t, min(left, 2), r.Running)
		require.Equal(t, left-r.Running, r.Waiting)
		var runs name
		for _, n := range y.names {
			if y.tasks[n].runs {
				runs = n
				continue
			}
			e, err := y.s.Explain(n)
			require.NoError(t, err)
			require.ErrorIs(t, e.Refused, omega.ErrLimit)
		}
		y.done(t, runs)
	}
}
