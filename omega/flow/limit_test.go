package flow_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

func held(most ...int64) omega.Limits {
	v := resources.Vector{}
	copy(v[:], most)
	return omega.Limits{Held: &v}
}

// refusal returns why a task waits, by the last round.
func (y *yard) refusal(t require.TestingT, n name) error {
	e, err := y.s.Explain(n)
	require.NoError(t, err)
	return e.Refused
}

// A limit of three, and room for forty tasks: three run, nothing is refused, those
// that wait are told why, and rounds do nothing about them. When one has ended,
// another takes its place in the same round.
func TestLimits_AreNotPlannedBeyond(t *testing.T) {
	y := newYard(t, one)
	for range 10 {
		y.addMachine(t, resources.Vector{4})
	}
	y.limit(t, held(3))
	y.addJob(t, "a", 0, 99)
	for range 30 {
		y.add(t, "a", one)
	}
	r := y.round(t)
	require.Equal(t, [4]int{3, 27, 27, 0}, [4]int{r.Running, r.Waiting, r.Limited, r.Conflicts})
	require.EqualError(t, y.refusal(t, 29),
		`omega: scheduler "limited": need kind0=1, held kind0=3 of kind0=3: limit of the scheduler is reached`)
	require.ErrorIs(t, y.refusal(t, 29), omega.ErrLimit)
	for range 5 {
		y.asks = 0
		r = y.round(t)
		require.Zero(t, y.asks, "arcs are asked for")
		require.Equal(t, 27, r.Limited)
		require.Empty(t, append(stops(r), starts(r)...))
	}
	y.done(t, y.names[0])
	r = y.round(t)
	require.Len(t, r.Start, 1)
	require.Equal(t, [3]int{3, 26, 0}, [3]int{r.Running, r.Limited, r.Conflicts})
	require.NoError(t, y.refusal(t, r.Start[0].Task))
	late := y.add(t, "a", one)
	require.Equal(t, 27, y.round(t).Limited)
	require.ErrorIs(t, y.refusal(t, late), omega.ErrLimit)
}

// The room that limits leave goes to the tasks that save most by running. Where waiting
// costs, these are the tasks that have waited for longest, and among these the ones near
// their data. Tasks of jobs below their low come before them all. So it is in each kind
// of resource.
func TestLimits_AdmitTheLargestGain(t *testing.T) {
	y := newYard(t, resources.Vector{1, 1}, resources.Vector{9, 9}, resources.Vector{9, 9}, resources.Vector{9, 9}, resources.Vector{9, 9})
	y.limit(t, held(99, 2))
	y.addJob(t, "a", 0, 99)
	y.addJob(t, "b", 0, 99)
	far := y.add(t, "a", resources.Vector{1, 1})
	y.tasks[far].input = []quincy.Block{{Bytes: 1 << 30, Nodes: nodes(0)}, {Bytes: 1 << 30, Nodes: nodes(3)}}
	require.NoError(t, y.s.Update(far, y.now))
	near := y.add(t, "a", resources.Vector{1, 1}, 0)
	y.pass(t, time.Second)
	late := y.add(t, "b", resources.Vector{1, 1}, 0)
	none := y.add(t, "b", resources.Vector{5, 0}, 0)
	r := y.round(t)
	require.ElementsMatch(t, []name{near, late, none}, starts(r))
	y.done(t, near)
	require.Equal(t, []name{far}, starts(y.round(t)))

	last := y.add(t, "a", resources.Vector{1, 1}, 0)
	due := y.add(t, "b", resources.Vector{1, 1}, 0)
	y.done(t, late)
	y.done(t, far)
	require.NoError(t, y.s.SetShares("b", 2, 9))
	require.NoError(t, y.s.SetShares("a", 0, 9))
	blocked := y.add(t, "b", resources.Vector{0, 3}, 0)
	require.ElementsMatch(t, []name{due, last}, starts(y.round(t)))
	require.ErrorIs(t, y.refusal(t, blocked), omega.ErrLimit, "which is more than limits ever leave")
	y.done(t, last)
	y.done(t, none)
	another := y.add(t, "a", resources.Vector{1, 1}, 0)
	second := y.add(t, "b", resources.Vector{1, 1}, 0)
	require.Equal(t, []name{second}, starts(y.round(t)))
	require.ErrorIs(t, y.refusal(t, another), omega.ErrLimit)
}

// A job that is due a task gets it though other jobs hold all that limits leave. The task
// that loses least stops for it, and when it has, the other starts in that round. No job
// falls below its own low for that.
func TestLimits_DoNotKeepAJobFromItsLow(t *testing.T) {
	y := newYard(t, one)
	for range 6 {
		y.addMachine(t, resources.Vector{2})
	}
	y.limit(t, held(3))
	y.addJob(t, "a", 2, 9)
	for range 3 {
		y.add(t, "a", one)
		y.pass(t, time.Second)
		y.round(t)
	}
	y.addJob(t, "b", 2, 9)
	first, second := y.add(t, "b", one), y.add(t, "b", one)
	r := y.round(t)
	require.Equal(t, []name{2}, stops(r), "which has run for the shortest time")
	require.Empty(t, r.Start)
	require.ErrorIs(t, y.refusal(t, first), omega.ErrLimit, "until that has stopped")
	require.ErrorIs(t, y.refusal(t, 2), omega.ErrLimit)
	require.Empty(t, stops(y.round(t)))
	y.stopped(t, 2)
	require.Equal(t, []name{first}, starts(y.round(t)))
	require.Empty(t, stops(y.round(t)), "a has but its low")
	require.ErrorIs(t, y.refusal(t, second), omega.ErrLimit)
}

// Waiting grows dearer than what a task that runs would lose, and it stops, as it
// would for a slot; but not for one that no machine has room for.
func TestLimits_SwapForALargerGain(t *testing.T) {
	y := newYard(t, one, resources.Vector{2}, resources.Vector{2})
	y.limit(t, held(1, 9))
	y.addJob(t, "a", 0, 9)
	y.addJob(t, "b", 0, 9)
	runs := y.add(t, "a", one)
	y.round(t)
	waits := y.add(t, "b", one)
	vain := y.add(t, "b", resources.Vector{1, 9})
	for range 3 {
		require.Empty(t, y.round(t).Stop)
	}
	y.pass(t, time.Second)
	require.Equal(t, []name{runs}, stops(y.round(t)))
	y.stopped(t, runs)
	require.Equal(t, []name{waits}, starts(y.round(t)))
	require.False(t, y.tasks[vain].runs)
	y.must = true // a task that runs from now on cannot wait
	require.NoError(t, y.s.Update(waits, y.now))
	y.must = false
	y.pass(t, time.Minute)
	require.Empty(t, y.round(t).Stop)
}

// A task that waits for a machine, and not for limits, keeps none of those after
// it from a trade.
func TestLimits_ATaskThatWaitsForAMachineIsPassedOver(t *testing.T) {
	y := newYard(t, one, resources.Vector{2, 1}, resources.Vector{2, 1})
	y.limit(t, held(2, 9))
	for node := range 2 {
		require.True(t, y.take(t, machineAt(y.cell, node), resources.Vector{0, 1}, 9))
	}
	y.addJob(t, "a", 0, 9)
	y.addJob(t, "b", 0, 9)
	runs := []name{y.add(t, "a", one), y.add(t, "a", one)}
	require.ElementsMatch(t, runs, starts(y.round(t)))
	first := y.add(t, "b", one)
	y.add(t, "b", resources.Vector{0, 1})
	third := y.add(t, "b", one)
	require.Empty(t, y.round(t).Stop)
	y.pass(t, time.Second)
	require.ElementsMatch(t, runs, stops(y.round(t)))
	for _, n := range runs {
		y.stopped(t, n)
	}
	require.ElementsMatch(t, []name{first, third}, starts(y.round(t)))
}

// No task stops for one that limits would then leave room for, and that the plan has no
// place for.
func TestLimits_StopNoTaskWithoutUse(t *testing.T) {
	y := newYard(t, one, one, one, one)
	y.limit(t, held(2))
	y.addJob(t, "a", 0, 9)
	y.tie = map[name]bool{0: true, 2: true}
	y.add(t, "a", one, 0)
	y.round(t)
	y.must = true // it cannot wait any more
	require.NoError(t, y.s.Update(0, y.now))
	y.must = false
	y.add(t, "a", one, 1)
	y.round(t)
	y.add(t, "a", one, 0)
	for range 5 {
		y.pass(t, time.Minute)
		require.Empty(t, y.round(t).Stop)
		require.Equal(t, 2, y.running("a"))
	}
}

// Tasks that come first by rank and have only full machines do not keep the room within
// limits from others.
func TestLimits_AreNotUsedUpByUnplacedTasks(t *testing.T) {
	y := newYard(t, one, one, resources.Vector{9})
	y.limit(t, held(3))
	y.addJob(t, "a", 0, 99)
	y.tie = map[name]bool{}
	for n := range name(4) {
		y.tie[n] = true // to machine 0
		y.add(t, "a", one, 0)
	}
	y.pass(t, time.Second)
	for range 4 {
		y.add(t, "a", one, 1)
	}
	conflicts := 0
	for range 4 {
		conflicts += y.round(t).Conflicts
	}
	require.Zero(t, conflicts)
	require.Equal(t, 3, y.running("a"))
	// And when their machines have room, no more run than limits leave.
	for range 8 {
		y.addMachine(t, one)
	}
	y.tie = nil
	for n := range name(4) {
		require.NoError(t, y.s.Update(n, y.now))
	}
	r := y.round(t)
	require.Equal(t, [2]int{3, 0}, [2]int{r.Running, r.Conflicts})
	require.Equal(t, 5, r.Limited)
}

// Two tasks that are due to their jobs, and have no machine, do not take turns at the
// room within limits. So another task that has a machine gets it.
func TestLimits_AnUnplacedTaskTakesNoTurns(t *testing.T) {
	y := newYard(t, resources.Vector{2, 2})
	y.addMachine(t, resources.Vector{1, 8})
	y.limit(t, omega.Limits{Held: &resources.Vector{2, 3}})
	y.addJob(t, "due", 1, 5)
	y.addJob(t, "other", 0, 1)
	y.add(t, "due", resources.Vector{2})
	fits := y.add(t, "other", resources.Vector{1, 3})
	y.add(t, "due", resources.Vector{2})
	var started []name
	for range 5 {
		started = append(started, starts(y.round(t))...)
		y.pass(t, time.Second)
	}
	require.Equal(t, []name{fits}, started)
}

// A task that is to move holds its room until it has stopped, and a full limit leaves
// none beside it. Its claim waits for that, and is not refused.
func TestLimits_AMovingTaskHoldsOneAllocationAtATime(t *testing.T) {
	y := newYard(t, one, one, one)
	y.limit(t, held(1))
	y.addJob(t, "a", 0, 9)
	a := y.add(t, "a", one, 0)
	y.round(t)
	y.tasks[a].input = []quincy.Block{{Bytes: 100 << 30, Nodes: nodes(1)}}
	require.NoError(t, y.s.Update(a, y.now))
	r := y.round(t)
	require.Equal(t, []name{a}, stops(r))
	require.Zero(t, r.Conflicts)
	require.Zero(t, y.round(t).Conflicts)
	y.stopped(t, a)
	r = y.round(t)
	require.Equal(t, []name{a}, starts(r))
	require.Equal(t, machineAt(y.cell, 1), r.Start[0].Machine)
}

// Between jobs that the cell's scheduler has admitted it may claim nothing, and no
// round tries.
func TestLimits_NothingIsClaimedBetweenJobs(t *testing.T) {
	y := newYard(t, one, resources.Vector{4})
	y.limit(t, omega.Limits{Jobs: 1})
	y.addJob(t, "a", 0, 9)
	for range 3 {
		y.add(t, "a", one)
	}
	for range 2 {
		r := y.round(t)
		require.Equal(t, [3]int{0, 3, 0}, [3]int{r.Running, r.Limited, r.Conflicts})
	}
	require.NoError(t, y.ours.BeginJob())
	require.Len(t, y.round(t).Start, 3)
	require.NoError(t, y.ours.EndJob())
	y.done(t, 0)
	late := y.add(t, "a", one)
	require.Equal(t, 1, y.round(t).Limited)
	require.ErrorIs(t, y.refusal(t, late), omega.ErrLimit)
}

// What limits leave can shrink after a round has looked: then the cell refuses.
func TestLimits_ShrinkInTheMidstOfARound(t *testing.T) {
	y := newYard(t, one, resources.Vector{4})
	y.limit(t, held(2))
	y.addJob(t, "a", 0, 9)
	y.add(t, "a", one)
	y.add(t, "a", one)
	var id omega.AllocationID
	y.asks, y.meddle = 1, func() {
		tx := omega.Txn{Now: y.now}
		tx.Claim(omega.Claim{Machine: machineAt(y.cell, 0), Need: one})
		_, err := y.ours.Commit(&tx)
		require.NoError(t, err)
		id, _ = tx.Allocation(0)
	}
	require.NoError(t, y.s.Update(0, y.now)) // which asks
	r, err := y.s.Round(t.Context(), y.now)
	require.NoError(t, err)
	require.Equal(t, 1, r.Running)
	require.Equal(t, 1, r.Limited)
	require.NoError(t, y.ours.Release(id))
	r, err = y.s.Round(t.Context(), y.now)
	require.NoError(t, err)
	require.Equal(t, 2, r.Running)
	require.NoError(t, y.refusal(t, 1))
}

// Two of three tasks for which others are to stop get all that limits leave then. The
// third does not. The task that was to stop for it stops all the same: its room is for
// the two.
func TestLimits_AStopStandsForWhatOthersGot(t *testing.T) {
	y := newYard(t, resources.Vector{2})
	for range 9 {
		y.addMachine(t, resources.Vector{2})
	}
	y.limit(t, held(4))
	y.addJob(t, "a", 0, 9)
	y.addJob(t, "b", 3, 9)
	var small []name
	for range 3 {
		small = append(small, y.add(t, "a", one))
	}
	require.ElementsMatch(t, small, starts(y.round(t)))
	for range 3 {
		y.add(t, "b", resources.Vector{2})
	}
	r := y.round(t)
	require.ElementsMatch(t, small, stops(r))
	for _, task := range small {
		y.stopped(t, task)
	}
	require.Len(t, y.round(t).Start, 2)
}

// A task that was to stop for one that gets no place does all the same if another task of
// its job has got its share of that.
func TestLimits_AStopStandsForTheJobsMaximum(t *testing.T) {
	y := newYard(t, resources.Vector{2})
	for range 3 {
		y.addMachine(t, resources.Vector{2})
	}
	y.take(t, machineAt(y.cell, 0), resources.Vector{2}, 0)
	y.limit(t, held(2))
	y.addJob(t, "a", 0, 1)
	y.addJob(t, "b", 1, 9)
	runs := y.add(t, "a", one)
	require.Equal(t, []name{runs}, starts(y.round(t)))
	next := y.add(t, "a", one)
	require.Empty(t, y.round(t).Stop)
	y.tie = map[name]bool{y.next: true}
	y.add(t, "b", resources.Vector{2}, 0)
	require.Empty(t, y.round(t).Stop, "there is room for the other of job a")
	r := y.round(t) // which had its chance
	require.Equal(t, []name{runs}, stops(r))
	require.Equal(t, []name{next}, starts(r))
}
