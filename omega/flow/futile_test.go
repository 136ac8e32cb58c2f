package flow_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/flow"
	"github.com/cellsched/cellsched/resources"
)

// counts returns the numbers of tasks that wait in vain by a report.
func counts[T comparable](r flow.Report[T]) [3]int {
	return [3]int{r.Unslotted, r.Oversized, r.Unwilling}
}

// Tasks that nothing will start while machines, the slot and costs are as they are are
// counted in each round, and the first of them is named with its values.
func TestRound_SaysWhichTasksWaitInVain(t *testing.T) {
	type costs = quincy.DataCosts
	willing := costs{Core: 20, Rack: 10, Unscheduled: 1000}
	tests := map[string]struct {
		slot, need resources.Vector
		costs      costs
		counts     [3]int
		err        error
		text       string
	}{
		"a slot larger than every machine": {
			slot: resources.Vector{9}, need: one, costs: willing, counts: [3]int{2, 0, 0}, err: flow.ErrSlot,
			text: "flow: task 0 waits for slot cpu=9, missing cpu=5 on the nearest of 2 machines (first of 2 tasks): slot exceeds every machine",
		},
		"a slot of a kind that no machine has": {
			slot: resources.Vector{1, 0, 1}, need: one, costs: willing, counts: [3]int{2, 0, 0}, err: flow.ErrSlot,
			text: "flow: task 0 waits for slot cpu=1,kind2=1, missing kind2=1 on the nearest of 2 machines (first of 2 tasks): slot exceeds every machine",
		},
		"a slot that no machine has all of": {
			slot: resources.Vector{3, 3}, need: one, costs: willing, counts: [3]int{2, 0, 0}, err: flow.ErrSlot,
			text: "flow: task 0 waits for slot cpu=3,memory=3, missing memory=1 on the nearest of 2 machines (first of 2 tasks): slot exceeds every machine",
		},
		"a task larger than every machine": {
			slot: one, need: resources.Vector{5}, costs: willing, counts: [3]int{0, 2, 0}, err: omega.ErrNeverFits,
			text: "flow: task 0 needs cpu=5, missing cpu=1 on the nearest of 2 machines (first of 2 tasks): need can never fit",
		},
		"a task larger than every machine, and no slot": {
			slot: resources.Vector{9}, need: resources.Vector{5}, costs: willing, counts: [3]int{0, 2, 0}, err: omega.ErrNeverFits,
			text: "flow: task 0 needs cpu=5, missing cpu=1 on the nearest of 2 machines (first of 2 tasks): need can never fit",
		},
		"costs of zero": {
			slot: one, need: one, counts: [3]int{0, 0, 2}, err: flow.ErrCosts,
			text: "flow: task 0: its cheapest arc costs as much as waiting (first of 2 tasks): waiting costs a task no more than any machine",
		},
		"waiting is cheaper": {
			slot: one, need: one, costs: costs{Unscheduled: -7}, counts: [3]int{0, 0, 2}, err: flow.ErrCosts,
			text: "flow: task 0: its cheapest arc costs 7 more than waiting (first of 2 tasks): waiting costs a task no more than any machine",
		},
		"waiting becomes cheaper still": {
			slot: one, need: one, costs: costs{Wait: -1}, counts: [3]int{0, 0, 2}, err: flow.ErrCosts,
			text: "flow: task 0: its cheapest arc costs as much as waiting (first of 2 tasks): waiting costs a task no more than any machine",
		},
		"waiting becomes dearer": {slot: one, need: one, costs: costs{Wait: 1, Unscheduled: -1000}},
	}
	space, err := resources.NewSpace(resources.Dimension{Name: "cpu"}, resources.Dimension{Name: "memory"})
	require.NoError(t, err)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cell, err := omega.NewCell(omega.Config{Space: space, Machines: []omega.Machine{
				{Name: "a", Capacity: resources.Vector{4, 2}}, {Name: "b", Capacity: resources.Vector{2, 4}},
			}})
			require.NoError(t, err)
			ours, err := cell.Register("flow", omega.Limits{})
			require.NoError(t, err)
			costs := tt.costs
			s, err := flow.New[job](flow.Config[int]{
				Cell: cell, Scheduler: ours, Slot: tt.slot,
				Arcs: func(arcs []quincy.Arc, _ int, state quincy.State, now int64) []quincy.Arc {
					return costs.Arcs(arcs, nil, state, now)
				},
			})
			require.NoError(t, err, "machines may come that hold it")
			require.NoError(t, s.AddJob("j", 0, 9))
			for n := range 2 {
				require.NoError(t, s.Add(n, flow.Task[job]{Job: "j", Need: tt.need}, start))
			}
			for range 2 {
				r, err := s.Round(t.Context(), start)
				require.NoError(t, err)
				require.Equal(t, tt.counts, counts(r))
				require.Equal(t, 2, r.Waiting)
				e, err := s.Explain(1)
				require.NoError(t, err)
				if tt.err == nil {
					require.NoError(t, r.Why)
					require.NoError(t, e.Why)
					continue
				}
				require.ErrorIs(t, r.Why, tt.err)
				require.EqualError(t, r.Why, tt.text)
				require.ErrorIs(t, e.Why, tt.err)
				require.Contains(t, e.String(), "  waits in vain: flow: task 1")
			}

			// A machine that holds all of it, and costs that make a task want to run.
			_, err = cell.Add(omega.Machine{Name: "large", Capacity: resources.Vector{20, 20, 20}})
			require.NoError(t, err)
			costs = willing
			for n := range 2 {
				require.NoError(t, s.Update(n, start))
			}
			started := 0
			for range 4 {
				r, err := s.Round(t.Context(), start)
				require.NoError(t, err)
				started += len(r.Start)
				require.NoError(t, r.Why)
				require.Zero(t, counts(r))
			}
			require.Equal(t, 2, started)
		})
	}
}

// Each reason is counted beside the others, and a task for the first that applies.
func TestRound_CountsEachTaskThatWaitsInVainOnce(t *testing.T) {
	y := newYard(t, resources.Vector{5}, resources.Vector{4})
	y.addJob(t, "a", 0, 99)
	for _, need := range []int64{1, 2, 9, 4} {
		y.add(t, "a", resources.Vector{need})
	}
	r := y.round(t)
	require.Equal(t, [3]int{3, 1, 0}, counts(r))
	require.ErrorIs(t, r.Why, flow.ErrSlot)
	require.ErrorIs(t, r.Why, omega.ErrNeverFits)
	for _, n := range []name{0, 1, 3} {
		y.done(t, n)
	}
	require.Equal(t, [3]int{0, 1, 0}, counts(y.round(t)))
	y.done(t, 2)
	r = y.round(t)
	require.Zero(t, counts(r))
	require.NoError(t, r.Why)

	y.lose(t, machineAt(y.cell, 0))
	y.add(t, "a", one)
	r = y.round(t)
	require.Equal(t, [3]int{0, 1, 0}, counts(r))
	require.ErrorContains(t, r.Why, "needs kind0=1, there is no machine")
}

// A task with arcs to no machine waits for good. One that runs is not counted, and one
// that is done is not either.
func TestRound_CountsUnwillingTasksWhileTheyWait(t *testing.T) {
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "a", Capacity: one}}})
	require.NoError(t, err)
	ours, err := cell.Register("flow", omega.Limits{})
	require.NoError(t, err)
	arcs := map[int][]quincy.Arc{
		0: {{To: quincy.Cluster()}},
		1: {{To: quincy.Unscheduled()}},
		2: {{To: quincy.Unscheduled(), Cost: 5}, {To: quincy.Cluster(), Cost: 5, Rate: 1}},
	}
	s, err := flow.New[job](flow.Config[int]{
		Cell: cell, Scheduler: ours, Slot: one,
		Arcs: func(all []quincy.Arc, task int, state quincy.State, _ int64) []quincy.Arc {
			if all = append(all, arcs[task]...); state.Running {
				all = append(all, quincy.Arc{To: quincy.OnMachine(state.On)})
			}
			return all
		},
	})
	require.NoError(t, err)
	require.NoError(t, s.AddJob("j", 0, 9))
	for n := range 3 {
		require.NoError(t, s.Add(n, flow.Task[job]{Job: "j", Need: one}, start))
	}
	r, err := s.Round(t.Context(), start)
	require.NoError(t, err)
	require.Len(t, r.Start, 1)
	require.Equal(t, [3]int{0, 0, 2}, counts(r))
	require.ErrorContains(t, r.Why, "flow: task 1 has no arc to a machine (first of 2 tasks): ")
	require.NoError(t, s.Done(1))
	r, err = s.Round(t.Context(), start.Add(time.Minute))
	require.NoError(t, err)
	require.Equal(t, [3]int{0, 0, 1}, counts(r))
	require.ErrorContains(t, r.Why, "flow: task 2: its cheapest arc costs 60 more than waiting: ")
	require.NoError(t, s.Done(2))
	r, err = s.Round(t.Context(), start.Add(time.Minute))
	require.NoError(t, err)
	require.Zero(t, counts(r))
}
