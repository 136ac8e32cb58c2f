package quincy_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality/quincy"
)

// What cannot be is named, with what would help, and the plan before stays.
func TestPlan_SaysWhyThereIsNone(t *testing.T) {
	cluster, wait := quincy.Arc{To: quincy.Cluster(), Cost: 1}, quincy.Arc{To: quincy.Unscheduled(), Cost: 5}
	zero, one := quincy.Arc{To: quincy.OnMachine(0), Cost: 2}, quincy.Arc{To: quincy.OnMachine(1), Cost: 3}
	tests := map[string]struct {
		low, top int
		arcs     [][]quincy.Arc // of the tasks that come
		slots    int            // of machine 0, then
		want     string
	}{
		"E beyond the slots": {
			low: 4, top: 4, arcs: [][]quincy.Arc{{cluster, wait}, {cluster, wait}, {cluster, wait}}, slots: 2,
			want: "quincy: plan: jobs are to run 4 tasks at least, the sum of their E, and there are 3 slots: lower E or add machines: ",
		},
		"E beyond the arcs": {
			low: 3, top: 4, arcs: [][]quincy.Arc{{one, wait}, {one, wait}}, slots: 2,
			want: "quincy: plan: 2 tasks, task 1 among them, can go to machine 1 (1 slots), wait in job \"j\" (of 3 tasks it is to run 3): that is room for 1; add slots or arcs, or lower E: ",
		},
		"nowhere to wait": {
			top: 9, arcs: [][]quincy.Arc{{one}, {zero, one}, {one}, {zero, one}}, slots: 2,
			want: "quincy: plan: 2 tasks, task 1 among them, can go to machine 1 (1 slots): that is room for 1; add slots or arcs, or lower E: ",
		},
		"no task can wait for F": {
			top: 1, arcs: [][]quincy.Arc{{zero}, {one}}, slots: 2,
			want: "quincy: plan: job \"j\": at most 1 of 3 tasks are to run, and only 1 can wait: add arcs to wait, or raise F: ",
		},
		"fewer slots": {
			top: 9, arcs: [][]quincy.Arc{{zero}, {zero}}, slots: 1,
			want: "quincy: plan: 2 tasks, task 1 among them, can go to machine 0 (1 slots): that is room for 1; add slots or arcs, or lower E: ",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := quincy.New[string](quincy.Config[int]{Arcs: func(arcs []quincy.Arc, task int, s quincy.State, _ int64) []quincy.Arc {
				if task == 0 {
					return append(arcs, zero, wait)
				}
				arcs = append(arcs, test.arcs[task-1]...)
				if s.Running && s.On == 0 && test.arcs[task-1][0].To != zero.To {
					arcs = append(arcs, zero)
				}
				return arcs
			}})
			require.NoError(t, err)
			require.NoError(t, p.AddMachine(quincy.Machine{Node: 0, Slots: 2}))
			require.NoError(t, p.AddMachine(quincy.Machine{Node: 1, Slots: 1}))
			require.NoError(t, p.AddJob("innocent", 0, 9))
			require.NoError(t, p.AddJob("j", 0, 9))
			require.NoError(t, p.AddTask(0, "j", 0))
			before, err := p.Plan(t.Context(), 0)
			require.NoError(t, err)
			require.Zero(t, before.Waiting)

			for i := range test.arcs {
				require.NoError(t, p.AddTask(i+1, "j", 1))
			}
			require.NoError(t, p.SetShares("j", test.low, test.top))
			require.NoError(t, p.SetSlots(0, test.slots))
			_, err = p.Plan(t.Context(), 1)
			require.ErrorIs(t, err, quincy.ErrInfeasible)
			require.EqualError(t, err, test.want+"infeasible")
			on, ok := p.Placed(0)
			require.True(t, ok)
			require.Zero(t, on)

			// What came is taken back, and all is as it was.
			for i := range test.arcs {
				require.NoError(t, p.RemoveTask(i+1))
			}
			require.NoError(t, p.SetShares("j", 0, 9))
			after, err := p.Plan(t.Context(), 1)
			require.NoError(t, err)
			require.Empty(t, after.Changes)
			require.Equal(t, before.Cost, after.Cost)
		})
	}
}

// A plan that cannot be is not looked for again before something changes that could
// mend it. The error is the same one.
func TestPlan_RemembersThatThereIsNone(t *testing.T) {
	arcs := map[int][]quincy.Arc{}
	p, err := quincy.New[string](quincy.Config[int]{Arcs: func(all []quincy.Arc, task int, _ quincy.State, _ int64) []quincy.Arc {
		return append(all, arcs[task]...)
	}})
	require.NoError(t, err)
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 0, Slots: 1}))
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 1, Slots: 1}))
	require.NoError(t, p.AddJob("j", 0, 2))
	for task := range 2 {
		arcs[task] = []quincy.Arc{{To: quincy.OnMachine(0)}}
		require.NoError(t, p.AddTask(task, "j", 0))
	}
	now := int64(0)
	for _, step := range []struct {
		name     string
		change   func() error
		possible bool
	}{
		{"the same slots", func() error { return p.SetSlots(0, 1) }, false},
		{"a slot more", func() error { return p.SetSlots(0, 2) }, true},
		{"a slot less", func() error { return p.SetSlots(0, 1) }, false},
		{"a task less", func() error { return p.RemoveTask(1) }, true},
		{"a task more", func() error { return p.AddTask(1, "j", now) }, false},
		{"a larger E", func() error { return p.SetShares("j", 2, 2) }, false},
		{"a machine more", func() error { return p.AddMachine(quincy.Machine{Node: 2, Slots: 9}) }, false},
		{"an arc more", func() error {
			arcs[1] = append(arcs[1], quincy.Arc{To: quincy.OnMachine(1)})
			return p.UpdateTask(1, now)
		}, true},
	} {
		_, before := p.Plan(t.Context(), now)
		require.NoError(t, step.change(), step.name)
		_, first := p.Plan(t.Context(), now)
		now++
		_, again := p.Plan(t.Context(), now)
		if step.possible {
			require.NoError(t, errors.Join(first, again), step.name)
			require.ErrorIs(t, before, quincy.ErrInfeasible, step.name)
			continue
		}
		require.ErrorIs(t, again, quincy.ErrInfeasible, step.name)
		require.Same(t, first, again, step.name)
	}
}
