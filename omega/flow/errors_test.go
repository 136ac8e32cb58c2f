package flow_test

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/flow"
	"github.com/cellsched/cellsched/resources"
)

func TestNew_RefusesBadConfigurations(t *testing.T) {
	cell, err := omega.NewCell(omega.Config{})
	require.NoError(t, err)
	ours, err := cell.Register("flow", omega.Limits{})
	require.NoError(t, err)
	other, err := omega.NewCell(omega.Config{})
	require.NoError(t, err)
	theirs, err := other.Register("theirs", omega.Limits{})
	require.NoError(t, err)
	arcs := func(arcs []quincy.Arc, _ int, _ quincy.State, _ int64) []quincy.Arc { return arcs }
	tests := map[string]struct {
		cfg  flow.Config[int]
		want string
	}{
		"no cell":           {flow.Config[int]{Scheduler: ours, Arcs: arcs, Slot: one}, "Cell is nil"},
		"no scheduler":      {flow.Config[int]{Cell: cell, Arcs: arcs, Slot: one}, "Scheduler is nil"},
		"another's":         {flow.Config[int]{Cell: cell, Scheduler: theirs, Arcs: arcs, Slot: one}, `Scheduler "theirs" is of another cell`},
		"zero scheduler":    {flow.Config[int]{Cell: cell, Scheduler: &omega.Scheduler{}, Arcs: arcs, Slot: one}, `Scheduler "" is of another cell`},
		"no arcs":           {flow.Config[int]{Cell: cell, Scheduler: ours, Slot: one}, "Arcs is nil"},
		"no slot":           {flow.Config[int]{Cell: cell, Scheduler: ours, Arcs: arcs}, "Slot is empty"},
		"negative slot":     {flow.Config[int]{Cell: cell, Scheduler: ours, Arcs: arcs, Slot: resources.Vector{-1}}, "kind0=-1"},
		"negative unit":     {flow.Config[int]{Cell: cell, Scheduler: ours, Arcs: arcs, Slot: one, Unit: -1}, "Unit -1ns"},
		"negative patience": {flow.Config[int]{Cell: cell, Scheduler: ours, Arcs: arcs, Slot: one, Patience: -1}, "Patience -1ns"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := flow.New[int](tt.cfg)
			require.ErrorIs(t, err, flow.ErrConfig)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestScheduler_RefusesWhatCannotBe(t *testing.T) {
	y := newYard(t, one, one)
	y.addJob(t, "a", 0, 1)
	a := y.add(t, "a", one)
	y.pass(t, time.Second)
	y.round(t)
	task := flow.Task[job]{Job: "a", Need: one}

	require.ErrorIs(t, y.s.AddJob("a", 0, 1), quincy.ErrDuplicate)
	require.ErrorIs(t, y.s.AddJob("b", 2, 1), quincy.ErrRange)
	require.ErrorIs(t, y.s.SetShares("b", 0, 1), quincy.ErrUnknown)
	require.ErrorIs(t, y.s.RemoveJob("a"), quincy.ErrInUse)
	require.ErrorIs(t, y.s.Add(a, task, y.now), quincy.ErrDuplicate)
	require.ErrorIs(t, y.s.Add(9, flow.Task[job]{Job: "b"}, y.now), quincy.ErrUnknown)
	require.ErrorIs(t, y.s.Add(9, flow.Task[job]{Job: "a", Need: resources.Vector{-1}}, y.now), resources.ErrQuantity)
	require.ErrorIs(t, y.s.Add(9, flow.Task[job]{Job: "a", Need: one, Account: 77}, y.now), omega.ErrUnknown)
	require.ErrorIs(t, y.s.Add(9, flow.Task[job]{Job: "a"}, y.now), resources.ErrQuantity)
	require.ErrorIs(t, y.s.Add(9, task, y.now.Add(-time.Second)), quincy.ErrTime)
	y.tasks[9], y.bad[9] = &work{}, true
	later := y.now.Add(time.Hour) // which it is not: nothing has changed
	require.ErrorIs(t, y.s.Add(9, task, later), quincy.ErrArc)
	require.ErrorIs(t, y.s.Add(9, flow.Task[job]{Job: "b"}, later), quincy.ErrUnknown)
	require.ErrorIs(t, y.s.Update(9, later), flow.ErrUnknown)
	require.ErrorIs(t, y.s.Update(a, y.now.Add(-time.Second)), quincy.ErrTime)
	require.ErrorIs(t, y.s.Stopped(9), flow.ErrUnknown)
	require.ErrorIs(t, y.s.Stopped(a), flow.ErrRuns)
	require.ErrorIs(t, y.s.Done(9), flow.ErrUnknown)
	_, err := y.s.Explain(9)
	require.ErrorIs(t, err, flow.ErrUnknown)
	err = y.s.WriteNetwork(io.Discard, start)
	require.ErrorIs(t, err, quincy.ErrTime)
	_, err = y.s.Round(t.Context(), start)
	require.ErrorIs(t, err, quincy.ErrTime)

	r := y.round(t)
	require.Empty(t, append(starts(r), stops(r)...))
	require.Equal(t, 1, r.Running)
	y.done(t, a)
	require.NoError(t, y.s.RemoveJob("a"))
	require.ErrorIs(t, y.s.Add(9, task, y.now), quincy.ErrUnknown)
}

// raw is a vector as fmt prints it.
var raw = regexp.MustCompile(`\[-?\d+( -?\d+)+\]`)

// readsWell requires that an error names its package once, in front, and no vector by
// position.
func readsWell(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	text := err.Error()
	require.True(t, strings.HasPrefix(text, "flow: "), text)
	for _, name := range []string{"flow: ", "omega: ", "quincy: ", "resources: "} {
		require.Equal(t, name == "flow: ", strings.Contains(text, name), text)
		require.LessOrEqual(t, strings.Count(text, name), 1, text)
	}
	require.NotRegexp(t, raw, text)
}

func TestErrors_NameThePackageOnceAndNoRawVector(t *testing.T) {
	y := newYard(t, one, one)
	y.addJob(t, "a", 0, 1)
	a := y.add(t, "a", one)
	y.pass(t, time.Second)
	y.round(t)
	later := flow.Running[job]{Job: "a", Machine: y.tasks[a].on, Allocation: y.tasks[a].alloc, Since: y.now}
	free := later
	free.Allocation = omega.AllocationID{}
	add := func(task flow.Task[job]) error { return y.s.Add(9, task, y.now) }
	_, unknown := y.s.Explain(9)
	_, early := y.s.Round(t.Context(), start)
	_, config := flow.New[job](flow.Config[int]{Cell: y.cell, Scheduler: y.ours, Arcs: func(arcs []quincy.Arc, _ int, _ quincy.State, _ int64) []quincy.Arc {
		return arcs
	}, Slot: resources.Vector{-1}})
	tests := map[string]struct {
		err  error
		text string
	}{
		"the configuration":  {flow.ErrConfig, "invalid configuration"},
		"a task":             {flow.ErrUnknown, "unknown task"},
		"a stop":             {flow.ErrRuns, "task was not told to stop"},
		"a slot":             {flow.ErrSlot, "slot exceeds"},
		"costs":              {flow.ErrCosts, "waiting costs a task"},
		"a bad slot":         {config, "invalid configuration: Slot: invalid quantity: kind0=-1"},
		"a zero need":        {add(flow.Task[job]{Job: "a"}), "task 9: need is zero: invalid quantity"},
		"a bad need":         {add(flow.Task[job]{Job: "a", Need: resources.Vector{-1}}), "task 9: need: invalid quantity: kind0=-1"},
		"an unknown job":     {add(flow.Task[job]{Job: "b", Need: one}), `task 9: job "b": unknown`},
		"an unknown account": {add(flow.Task[job]{Job: "a", Need: one, Account: 77}), "task 9: account 77: unknown"},
		"a precedence":       {add(flow.Task[job]{Job: "a", Need: one, Precedence: -1}), `task 9: precedence -1, scheduler "flow" may claim at 0 to 0: `},
		"a second":           {y.s.Add(a, flow.Task[job]{Job: "a", Need: one}, y.now), "task 0: "},
		"one that runs":      {y.s.Stopped(a), "task 0: task was not told to stop"},
		"none":               {unknown, "task 9: unknown task"},
		"a time":             {early, ""},
		"an allocation":      {y.s.AddRunning(8, later, y.now), "task 8: allocation "},
		"a released one":     {y.s.AddRunning(8, free, y.now), "task 8: allocation "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			readsWell(t, tt.err)
			require.ErrorContains(t, tt.err, "flow: "+tt.text)
		})
	}
}

func TestRound_SurvivesBadArcs(t *testing.T) {
	y := newYard(t, one, one, one)
	y.addJob(t, "a", 0, 9)
	a := y.add(t, "a", one, 0)
	y.asks, y.meddle = 2, func() {
		y.take(t, machineAt(y.cell, 0), one, 0)
		y.take(t, machineAt(y.cell, 1), one, 0)
		y.bad[a] = true
	}
	r, err := y.s.Round(t.Context(), y.now)
	require.ErrorIs(t, err, quincy.ErrArc)
	require.Equal(t, 1, r.Waiting)
	y.giveBack(t, 0)
	y.bad[a] = false
	require.NoError(t, y.s.Update(a, y.now))
	require.Equal(t, []name{a}, starts(y.round(t)))

	y.bad[a] = true
	y.lose(t, machineAt(y.cell, 0))
	r, err = y.s.Round(t.Context(), y.now)
	require.ErrorIs(t, err, quincy.ErrArc)
	require.Equal(t, []name{a}, stops(r))
	require.Equal(t, 1, r.Waiting)
}

func TestScheduler_CountsTimeInUnits(t *testing.T) {
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: one}}})
	require.NoError(t, err)
	ours, err := cell.Register("flow", omega.Limits{})
	require.NoError(t, err)
	var times []int64
	s, err := flow.New[int](flow.Config[int]{
		Cell: cell, Scheduler: ours, Slot: one, Unit: time.Second * 30,
		Arcs: func(arcs []quincy.Arc, _ int, _ quincy.State, now int64) []quincy.Arc {
			times = append(times, now)
			return append(arcs, quincy.Arc{To: quincy.OnMachine(0)})
		},
	})
	require.NoError(t, err)
	require.NoError(t, s.AddJob(0, 0, 1))
	require.NoError(t, s.Add(0, flow.Task[int]{Need: one}, start))
	r, err := s.Round(t.Context(), start.Add(65*time.Second))
	require.NoError(t, err)
	require.Len(t, r.Start, 1)
	require.Equal(t, []int64{0, 2, 2}, times)
	require.ErrorIs(t, s.Add(1, flow.Task[int]{}, start.Add(1<<63-1)), quincy.ErrTime)
	require.NoError(t, s.Add(1, flow.Task[int]{Need: one}, start.Add(2*time.Minute)))
}

func TestRound_SaysThatTimeGoesBack(t *testing.T) {
	y := newYard(t, one)
	y.round(t)
	_, err := y.s.Round(t.Context(), y.now.Add(-time.Nanosecond))
	require.ErrorIs(t, err, quincy.ErrTime)
	require.ErrorContains(t, err, "is before")
	_, err = y.s.Round(t.Context(), y.now.Add(1<<63-1))
	require.ErrorIs(t, err, quincy.ErrTime)
	require.ErrorContains(t, err, "want 0 to 268435456")
}

// Machines that the planner has no room for are named once and counted each round,
// until there is room for them.
func TestRound_SaysWhichMachinesItGoesWithout(t *testing.T) {
	y := newYard(t, one, one, one, one)
	remove := func(m omega.MachineID) {
		t.Helper()
		_, err := y.cell.Remove(m)
		require.NoError(t, err)
	}
	const most = 1_048_573 // jobs, and nothing else
	for j := range most {
		require.NoError(t, y.s.AddJob(job(fmt.Sprint(j)), 0, 1))
	}
	r, err := y.s.Round(t.Context(), y.now)
	require.ErrorIs(t, err, quincy.ErrRange)
	for _, m := range []string{"m0", "m1", "m2"} {
		require.ErrorContains(t, err, fmt.Sprintf("flow: machine %q: ", m))
	}
	require.Equal(t, 3, r.Beyond)
	require.Equal(t, 3, y.round(t).Beyond)
	require.NoError(t, y.s.RemoveJob("7"))
	require.NoError(t, y.s.RemoveJob("8"))
	require.Equal(t, 2, y.round(t).Beyond, "a machine and its rack")
	require.NoError(t, y.s.RemoveJob("9"))
	require.Equal(t, 1, y.round(t).Beyond)
	remove(machineAt(y.cell, 0))
	require.Equal(t, 0, y.round(t).Beyond)
	late := y.addMachine(t, one)
	r, err = y.s.Round(t.Context(), y.now)
	require.ErrorContains(t, err, `flow: machine "m3": `)
	require.Equal(t, 1, r.Beyond)
	remove(late)
	require.Equal(t, 0, y.round(t).Beyond)
}
