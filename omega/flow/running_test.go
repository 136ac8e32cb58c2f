package flow_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/flow"
	"github.com/cellsched/cellsched/resources"
)

func (w *work) running() flow.Running[job] {
	return flow.Running[job]{Job: w.Job, Machine: w.on, Allocation: w.alloc, Since: w.since}
}

// replace has another process take over: what runs goes on, what was told to stop
// has, and what was held for others is given back.
func (y *yard) replace(t require.TestingT) {
	var err error
	y.ours, err = y.cell.Replace(y.ours.Name())
	require.NoError(t, err)
	y.begin(t)
	for _, j := range slices.Sorted(maps.Keys(y.jobs)) {
		require.NoError(t, y.s.AddJob(j, y.jobs[j][0], y.jobs[j][1]))
	}
	var live []omega.AllocationID
	for a := range y.ours.Allocations() {
		live = append(live, a.ID)
	}
	for _, n := range y.names {
		w := y.tasks[n]
		i := slices.Index(live, w.alloc)
		if w.runs = w.runs && !w.stop && i >= 0; w.runs {
			require.NoError(t, y.s.AddRunning(n, w.running(), y.now))
			live = slices.Delete(live, i, i+1)
			continue
		}
		w.stop, w.by = false, time.Time{}
		require.NoError(t, y.s.Add(n, w.Task, y.now))
	}
	for _, id := range live {
		require.NoError(t, y.ours.Release(id))
	}
	for m := range y.ours.Marked() {
		require.NoError(t, y.ours.Release(m.Allocation.ID))
	}
}

// A successor leaves running tasks alone, counts their allocations as its own, and
// preempts the task that costs most.
func TestAddRunning_GoesOnWhereAnotherHasEnded(t *testing.T) {
	y := newYard(t, one, one, one)
	y.addJob(t, "a", 0, 9)
	y.addJob(t, "b", 1, 9)
	a, b := y.add(t, "a", one, 0), y.add(t, "a", one, 1)
	y.pass(t, 3*time.Second)
	require.ElementsMatch(t, []name{a, b}, starts(y.round(t)))
	y.pass(t, 7*time.Second)

	y.replace(t)
	r := y.round(t)
	require.Empty(t, append(starts(r), stops(r)...))
	require.Equal(t, 2, r.Running)
	require.Equal(t, int64(-7), y.seen[a].Since)

	c := y.add(t, "b", one) // is due one
	r = y.round(t)
	require.Len(t, r.Stop, 1)
	y.stopped(t, r.Stop[0].Task)
	require.Equal(t, []name{c}, starts(y.round(t)))
	for _, n := range []name{a, b, c} {
		y.done(t, n)
	}
	y.round(t)
	require.Equal(t, resources.Vector{}, y.ours.Usage())
}

func TestAddRunning_KnowsHowLongATaskHadWaited(t *testing.T) {
	y := newYard(t, one, one)
	y.addJob(t, "a", 0, 9)
	a := y.add(t, "a", one, 0)
	y.round(t)
	y.pass(t, 5*time.Second)
	w := y.tasks[a].running()
	w.Waited = 4 * time.Second
	y.begin(t)
	require.NoError(t, y.s.AddJob("a", 0, 9))
	require.NoError(t, y.s.AddRunning(a, w, y.now))
	require.Equal(t, int64(4), y.seen[a].Waited)
	y.take(t, machineAt(y.cell, 0), one, 1)
	y.round(t)
	require.Equal(t, quincy.State{Waited: 4, Racks: y.seen[a].Racks}, y.seen[a])
}

func TestAddRunning_RefusesWhatDoesNotRunThere(t *testing.T) {
	y := newYard(t, one, resources.Vector{2}, one)
	y.addJob(t, "a", 0, 9)
	a, b := y.add(t, "a", one, 0), y.add(t, "a", one, 0)
	y.round(t)
	require.True(t, y.take(t, machineAt(y.cell, 1), one, 0))
	y.begin(t)
	require.NoError(t, y.s.AddJob("a", 0, 9))
	w, other := y.tasks[a].running(), y.tasks[b].running()
	refused := func(want error, change func(*flow.Running[job])) {
		t.Helper()
		bad := w
		change(&bad)
		require.ErrorIs(t, y.s.AddRunning(a, bad, y.now), want)
	}
	refused(quincy.ErrUnknown, func(r *flow.Running[job]) { r.Job = "b" })
	refused(omega.ErrReleased, func(r *flow.Running[job]) { r.Machine = machineAt(y.cell, 1) })
	refused(omega.ErrReleased, func(r *flow.Running[job]) { r.Machine = machineAt(y.cell, 7) })
	refused(omega.ErrReleased, func(r *flow.Running[job]) { r.Allocation = omega.AllocationID{} })
	refused(omega.ErrNotOwner, func(r *flow.Running[job]) { r.Machine, r.Allocation = machineAt(y.cell, 1), y.theirs[0] })
	refused(quincy.ErrTime, func(r *flow.Running[job]) { r.Since = y.now.Add(1) })
	refused(quincy.ErrTime, func(r *flow.Running[job]) { r.Since = time.Time{} })
	refused(quincy.ErrTime, func(r *flow.Running[job]) { r.Waited = -time.Second })
	y.bad[a] = true
	refused(quincy.ErrArc, func(*flow.Running[job]) {})
	y.bad[a] = false

	require.NoError(t, y.s.AddRunning(a, w, y.now))
	require.ErrorIs(t, y.s.AddRunning(a, other, y.now), quincy.ErrDuplicate)
	require.ErrorContains(t, y.s.AddRunning(b, w, y.now), "is that of task 0")
	require.NoError(t, y.s.AddRunning(b, other, y.now))
	require.NoError(t, y.s.Done(b))
	require.ErrorIs(t, y.s.AddRunning(b, other, y.now), omega.ErrReleased, "it is to be")
	require.NoError(t, y.s.Add(b, y.tasks[b].Task, y.now))
	y.tasks[b].runs = false
	require.Equal(t, []name{b}, starts(y.round(t)))
}

// Time does not go back between two tasks that are added, not by less than a unit
// either.
func TestAddRunning_RefusesATimeBeforeTheFirst(t *testing.T) {
	y := newYard(t, one, resources.Vector{2})
	y.addJob(t, "a", 0, 9)
	a, b := y.add(t, "a", one, 0), y.add(t, "a", one, 0)
	y.round(t)
	y.begin(t)
	require.NoError(t, y.s.AddJob("a", 0, 9))
	require.NoError(t, y.s.AddRunning(a, y.tasks[a].running(), y.now))
	early := y.now.Add(-1)
	w := y.tasks[b].running()
	w.Since = early
	require.ErrorIs(t, y.s.AddRunning(b, w, early), quincy.ErrTime)
	require.NoError(t, y.s.AddRunning(b, w, y.now))
}

// A machine that goes before the first round, and one with a number that another machine
// has before a round has heard of it.
func TestAddRunning_OnMachinesThatGo(t *testing.T) {
	y := newYard(t, one, one, one)
	y.addJob(t, "a", 0, 9)
	a := y.add(t, "a", one, 0)
	y.round(t)
	y.replace(t)
	y.lose(t, machineAt(y.cell, 0))
	r := y.round(t)
	require.Equal(t, []name{a}, stops(r))
	require.Equal(t, []name{a}, starts(r))
	require.Equal(t, machineAt(y.cell, 1), y.tasks[a].on)

	y.lose(t, machineAt(y.cell, 1))
	tx := omega.Txn{}
	tx.Claim(omega.Claim{Machine: y.addMachine(t, one), Need: one})
	_, err := y.ours.Commit(&tx)
	require.NoError(t, err)
	id, _ := tx.Allocation(0)
	runs := flow.Running[job]{Job: "a", Machine: y.states()[0].ID, Allocation: id, Since: y.now}
	b := y.next
	y.tasks[b] = &work{}
	require.ErrorIs(t, y.s.AddRunning(b, runs, y.now), omega.ErrUnknown)
	r, err = y.s.Round(t.Context(), y.now)
	require.NoError(t, err)
	require.Equal(t, []name{a}, stops(r))
	require.NoError(t, y.s.AddRunning(b, runs, y.now))
	// One that comes and goes between rounds.
	last := y.addMachine(t, one)
	tx.Reset()
	tx.Claim(omega.Claim{Machine: last, Need: one})
	_, err = y.ours.Commit(&tx)
	require.NoError(t, err)
	id, _ = tx.Allocation(0)
	c := b + 1
	y.tasks[c] = &work{}
	require.NoError(t, y.s.AddRunning(c, flow.Running[job]{Job: "a", Machine: last, Allocation: id, Since: y.now}, y.now))
	y.lose(t, last)
	r, err = y.s.Round(t.Context(), y.now)
	require.NoError(t, err)
	require.Equal(t, []name{c}, stops(r))
}
