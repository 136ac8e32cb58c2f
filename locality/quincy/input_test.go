package quincy_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

type planner = quincy.Planner[string, int]

// with returns a call that adds task 9 with such arcs besides one to wait.
func with(arcs ...quincy.Arc) func(*planner, *[]quincy.Arc) error {
	return func(p *planner, next *[]quincy.Arc) error {
		*next = slices.Concat(arcs, []quincy.Arc{{To: quincy.Unscheduled(), Cost: 5}})
		return p.AddTask(9, "j", 4)
	}
}

// All bad input: the error names it and the expectation. The placement before
// stays, as do all tasks that were asked.
func TestPlanner_BadInputChangesNothing(t *testing.T) {
	tests := map[string]struct {
		do   func(p *planner, next *[]quincy.Arc) error
		want string
		err  error
	}{
		"cost beyond 2^40":  {with(quincy.Arc{To: quincy.InRack(1), Cost: 1<<40 + 1}), "task 9: arc to rack 1: cost 1099511627777, want within ±1099511627776: bad arc", quincy.ErrArc},
		"cost beyond -2^40": {with(quincy.Arc{To: quincy.Cluster(), Cost: -1<<40 - 1}), "task 9: arc to cluster: cost -1099511627777, want within ±1099511627776: bad arc", quincy.ErrArc},
		"rate beyond 2^15":  {with(quincy.Arc{To: quincy.Cluster(), Rate: -1<<15 - 1}), "task 9: arc to cluster: rate -32769, want within ±32768: bad arc", quincy.ErrArc},
		"unknown machine":   {with(quincy.Arc{To: quincy.OnMachine(77)}), "task 9: arc to machine 77: unknown key", quincy.ErrUnknown},
		"unknown rack":      {with(quincy.Arc{To: quincy.InRack(77)}), "task 9: arc to rack 77: unknown key", quincy.ErrUnknown},
		"two arcs":          {with(quincy.Arc{To: quincy.OnMachine(1)}, quincy.Arc{To: quincy.OnMachine(1)}), "task 9: two arcs to machine 1: bad arc", quincy.ErrArc},
		"two arcs to wait":  {with(quincy.Arc{To: quincy.Unscheduled()}), "task 9: two arcs to unscheduled: bad arc", quincy.ErrArc},
		"no arc":            {func(p *planner, next *[]quincy.Arc) error { *next = nil; return p.AddTask(9, "j", 4) }, "task 9 has no arcs, want one at least: bad arc", quincy.ErrArc},
		"no arc on update":  {func(p *planner, next *[]quincy.Arc) error { *next = nil; return p.UpdateTask(1, 4) }, "task 1 has no arcs, want one at least: bad arc", quincy.ErrArc},
		"no arc to where it runs": {func(p *planner, next *[]quincy.Arc) error {
			*next = []quincy.Arc{{To: quincy.Cluster()}}
			return p.AddRunning(9, "j", 1, 3, 0, 4)
		}, "task 9 runs on machine 1 and has no arc to it, want one: bad arc", quincy.ErrArc},
		"no slots":            {func(p *planner, _ *[]quincy.Arc) error { return p.AddMachine(quincy.Machine{Node: 7}) }, "machine 7: 0 slots, want 1 to 1048576: out of range", quincy.ErrRange},
		"negative slots":      {func(p *planner, _ *[]quincy.Arc) error { return p.AddMachine(quincy.Machine{Node: 7, Slots: -1}) }, "machine 7: -1 slots, want 1 to 1048576: out of range", quincy.ErrRange},
		"too many slots":      {func(p *planner, _ *[]quincy.Arc) error { return p.SetSlots(1, 1<<20+1) }, "machine 1: 1048577 slots, want 0 to 1048576: out of range", quincy.ErrRange},
		"slots set below 0":   {func(p *planner, _ *[]quincy.Arc) error { return p.SetSlots(1, -1) }, "machine 1: -1 slots, want 0 to 1048576: out of range", quincy.ErrRange},
		"slots of no machine": {func(p *planner, _ *[]quincy.Arc) error { return p.SetSlots(7, 1) }, "machine 7: unknown key", quincy.ErrUnknown},
		"machine twice":       {func(p *planner, _ *[]quincy.Arc) error { return p.AddMachine(quincy.Machine{Node: 1, Slots: 1}) }, "machine 1: key is there already", quincy.ErrDuplicate},
		"machine not there":   {func(p *planner, _ *[]quincy.Arc) error { return p.RemoveMachine(7, 4) }, "machine 7: unknown key", quincy.ErrUnknown},
		"E beyond F":          {func(p *planner, _ *[]quincy.Arc) error { return p.AddJob("k", 3, 2) }, `job "k": shares of 3 to 2, want 0 <= low <= top <= 1048576: out of range`, quincy.ErrRange},
		"E below 0":           {func(p *planner, _ *[]quincy.Arc) error { return p.AddJob("k", -1, 2) }, `job "k": shares of -1 to 2, want 0 <= low <= top <= 1048576: out of range`, quincy.ErrRange},
		"E set beyond F":      {func(p *planner, _ *[]quincy.Arc) error { return p.SetShares("j", 3, 2) }, `job "j": shares of 3 to 2, want 0 <= low <= top <= 1048576: out of range`, quincy.ErrRange},
		"F too large":         {func(p *planner, _ *[]quincy.Arc) error { return p.SetShares("j", 0, 1<<20+1) }, `job "j": shares of 0 to 1048577, want 0 <= low <= top <= 1048576: out of range`, quincy.ErrRange},
		"shares of no job":    {func(p *planner, _ *[]quincy.Arc) error { return p.SetShares("k", 0, 1) }, `job "k": unknown key`, quincy.ErrUnknown},
		"job twice":           {func(p *planner, _ *[]quincy.Arc) error { return p.AddJob("j", 0, 1) }, `job "j": key is there already`, quincy.ErrDuplicate},
		"job not there":       {func(p *planner, _ *[]quincy.Arc) error { return p.RemoveJob("k") }, `job "k": unknown key`, quincy.ErrUnknown},
		"job with tasks":      {func(p *planner, _ *[]quincy.Arc) error { return p.RemoveJob("j") }, `job "j" has 2 tasks: job is in use`, quincy.ErrInUse},
		"task of no job":      {func(p *planner, _ *[]quincy.Arc) error { return p.AddTask(9, "k", 4) }, `task 9: job "k": unknown key`, quincy.ErrUnknown},
		"task twice":          {func(p *planner, _ *[]quincy.Arc) error { return p.AddTask(1, "j", 4) }, "task 1: key is there already", quincy.ErrDuplicate},
		"task not there":      {func(p *planner, _ *[]quincy.Arc) error { return p.RemoveTask(9) }, "task 9: unknown key", quincy.ErrUnknown},
		"update of no task":   {func(p *planner, _ *[]quincy.Arc) error { return p.UpdateTask(9, 4) }, "task 9: unknown key", quincy.ErrUnknown},
		"why of no task":      {func(p *planner, _ *[]quincy.Arc) error { _, err := p.Explain(9); return err }, "task 9: unknown key", quincy.ErrUnknown},
		"runs nowhere":        {func(p *planner, _ *[]quincy.Arc) error { return p.AddRunning(9, "j", 7, 0, 0, 4) }, "task 9: machine 7: unknown key", quincy.ErrUnknown},
		"runs in the past":    {func(p *planner, _ *[]quincy.Arc) error { return p.AddRunning(9, "j", 1, 0, 0, math.MinInt64) }, "task 9: time -9223372036854775808, want 3 to 268435456: bad time", quincy.ErrTime},
		"runs since later":    {func(p *planner, _ *[]quincy.Arc) error { return p.AddRunning(9, "j", 1, 5, 0, 4) }, "task 9: runs since 5, want -268435452 to 4: bad time", quincy.ErrTime},
		"has waited for less": {func(p *planner, _ *[]quincy.Arc) error { return p.AddRunning(9, "j", 1, 4, -1, 4) }, "task 9: has waited for -1, want 0 to 268435456: bad time", quincy.ErrTime},
		"task in the past":    {func(p *planner, _ *[]quincy.Arc) error { return p.AddTask(9, "j", 2) }, "task 9: time 2, want 3 to 268435456: bad time", quincy.ErrTime},
		"update in the past":  {func(p *planner, _ *[]quincy.Arc) error { return p.UpdateTask(1, 2) }, "task 1: time 2, want 3 to 268435456: bad time", quincy.ErrTime},
		"loss in the past":    {func(p *planner, _ *[]quincy.Arc) error { return p.RemoveMachine(1, 2) }, "machine 1: time 2, want 3 to 268435456: bad time", quincy.ErrTime},
		"plan of the past":    {func(p *planner, _ *[]quincy.Arc) error { _, err := p.Plan(t.Context(), 2); return err }, "plan: time 2, want 3 to 268435456: bad time", quincy.ErrTime},
		"plan of the future":  {func(p *planner, _ *[]quincy.Arc) error { _, err := p.Plan(t.Context(), 1<<28+1); return err }, "plan: time 268435457, want 3 to 268435456: bad time", quincy.ErrTime},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var next []quincy.Arc
			p, err := quincy.New[string](quincy.Config[int]{Verify: true, Arcs: func(arcs []quincy.Arc, _ int, _ quincy.State, _ int64) []quincy.Arc {
				return append(arcs, next...)
			}})
			require.NoError(t, err)
			require.NoError(t, p.AddMachine(quincy.Machine{Node: 1, Rack: 1, Slots: 1}))
			require.NoError(t, p.AddJob("j", 0, 5))
			next = []quincy.Arc{{To: quincy.OnMachine(1), Cost: 3}, {To: quincy.Unscheduled(), Cost: 5}}
			require.NoError(t, p.AddTask(1, "j", 0))
			require.NoError(t, p.AddTask(2, "j", 0))
			before, err := p.Plan(t.Context(), 3)
			require.NoError(t, err)
			where := fmt.Sprint(p.Placed(1))

			err = test.do(p, &next)
			require.ErrorIs(t, err, test.err)
			require.EqualError(t, err, "quincy: "+test.want)

			after, err := p.Plan(t.Context(), 3) // no earlier than before
			require.NoError(t, err)
			require.Empty(t, after.Changes)
			require.Equal(t, before.Cost, after.Cost)
			require.Equal(t, 1, after.Waiting)
			require.Equal(t, where, fmt.Sprint(p.Placed(1)))
		})
	}
}

// As many jobs as there may be locations are too many, and so is a machine then.
func TestPlanner_HasRoomForSoManyMachinesRacksAndJobs(t *testing.T) {
	p, err := quincy.New[int](quincy.Config[int]{Arcs: func(arcs []quincy.Arc, _ int, _ quincy.State, _ int64) []quincy.Arc { return arcs }})
	require.NoError(t, err)
	jobs := 0
	for ; err == nil; jobs++ {
		err = p.AddJob(jobs, 0, 1)
	}
	require.Equal(t, 1<<20-2, jobs)
	require.EqualError(t, err, "quincy: job 1048573: there are 1048573 machines, racks and jobs, want room for 2 more of 1048574: out of range")
	require.ErrorIs(t, err, quincy.ErrRange)
	require.EqualError(t, p.AddMachine(quincy.Machine{Node: 3, Slots: 1}), "quincy: machine 3: there are 1048573 machines, racks and jobs, want room for 2 more of 1048574: out of range")
	require.NoError(t, p.RemoveJob(7))
	_, err = p.Plan(t.Context(), 0)
	require.NoError(t, err)
}

func TestNew_NeedsArcs(t *testing.T) {
	_, err := quincy.New[string](quincy.Config[int]{})
	require.EqualError(t, err, "quincy: config without Arcs, want a function: bad arc")
}

// A task that has been placed, with arcs that are invalid then, stays at its place
// for the former cost.
func TestPlan_KeepsFormerArcsWhereNewOnesCannotBe(t *testing.T) {
	bad := false
	p, err := quincy.New[string](quincy.Config[int]{Verify: true, Arcs: func(arcs []quincy.Arc, _ int, s quincy.State, _ int64) []quincy.Arc {
		if s.Running && bad {
			return append(arcs, quincy.Arc{To: quincy.Cluster()})
		}
		return append(arcs, quincy.Arc{To: quincy.InRack(2), Cost: 3}, quincy.Arc{To: quincy.Unscheduled(), Cost: 5})
	}})
	require.NoError(t, err)
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 1, Rack: 2, Slots: 1}))
	require.NoError(t, p.AddJob("j", 0, 5))
	require.NoError(t, p.AddTask(1, "j", 0))
	bad = true
	plan, err := p.Plan(t.Context(), 0)
	require.EqualError(t, err, "quincy: task 1 runs on machine 1 and has no arc to it, want one: bad arc")
	require.Equal(t, []quincy.Change[int]{{Task: 1, To: 1, Cost: 3}}, plan.Changes)
	on, ok := p.Placed(1)
	require.True(t, ok)
	require.Equal(t, locality.Node(1), on)
	plan, err = p.Plan(t.Context(), 1)
	require.NoError(t, err)
	require.Empty(t, plan.Changes)
	require.Equal(t, int64(3), plan.Cost)
}

// Whatever is told a time, nothing is told an earlier one after it.
func TestPlanner_TimeOnlyGoesOn(t *testing.T) {
	b := newBench(t, quincy.DataCosts{Unscheduled: 1})
	b.addMachine(t, 1, 1)
	b.addMachine(t, 2, 1)
	require.NoError(t, b.p.AddJob("j", 0, 1))
	for i, call := range []func(now int64) error{
		func(now int64) error { return b.p.AddTask(1, "j", now) },
		func(now int64) error { return b.p.AddRunning(2, "j", 1, 0, 0, now) },
		func(now int64) error { return b.p.UpdateTask(1, now) },
		func(now int64) error { return b.p.RemoveMachine(1, now) },
		func(now int64) error { _, err := b.p.Plan(t.Context(), now); return err },
	} {
		now := int64(10 * (i + 1))
		require.ErrorIs(t, call(now-11), quincy.ErrTime)
		require.NoError(t, call(now))
		_, err := b.p.Plan(t.Context(), now-1)
		require.ErrorIs(t, err, quincy.ErrTime)
	}
}

// A task that is preempted and then has no arc to wait has no place until the
// next plan, which finds one.
func TestPlan_WhereAPreemptedTaskWillNotWait(t *testing.T) {
	p, err := quincy.New[string](quincy.Config[int]{Verify: true, Arcs: func(arcs []quincy.Arc, task int, s quincy.State, now int64) []quincy.Arc {
		arcs = append(arcs, quincy.Arc{To: quincy.OnMachine(1)})
		if task == 1 && !s.Running && now > 0 {
			return arcs
		}
		return append(arcs, quincy.Arc{To: quincy.Unscheduled(), Cost: int64(task)})
	}})
	require.NoError(t, err)
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 1, Slots: 1}))
	require.NoError(t, p.AddJob("j", 0, 5))
	require.NoError(t, p.AddTask(1, "j", 0))
	_, err = p.Plan(t.Context(), 0)
	require.NoError(t, err)
	require.NoError(t, p.AddTask(2, "j", 1))
	plan, err := p.Plan(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, []quincy.Change[int]{{Action: quincy.Preempt, Task: 1, From: 1, Cost: 1}, {Task: 2, To: 1}}, plan.Changes)
	why, err := p.Explain(1)
	require.NoError(t, err)
	require.NotContains(t, why.String(), "it is here")
	require.Equal(t, int64(2), why.Ways[0].Extra)
	plan, err = p.Plan(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, []quincy.Change[int]{{Action: quincy.Preempt, Task: 2, From: 1, Cost: 2}, {Task: 1, To: 1}}, plan.Changes)
}
