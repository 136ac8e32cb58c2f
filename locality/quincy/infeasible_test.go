package quincy_test

import (
	"testing"
	"time"

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
// mend it. The error is the same one, and no work is done for it.
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
	const possible, searched, known = "possible", "searched", "known"
	now := int64(0)
	for _, step := range []struct {
		name   string
		change func() error
		want   string // of the plan after the change
	}{
		{"the same slots", func() error { return p.SetSlots(0, 1) }, known},
		{"a slot more", func() error { return p.SetSlots(0, 2) }, possible},
		{"a slot less", func() error { return p.SetSlots(0, 1) }, searched},
		{"other costs", func() error {
			arcs[1] = []quincy.Arc{{To: quincy.OnMachine(0), Cost: 7}}
			return p.UpdateTask(1, now)
		}, known},
		{"a job more", func() error { return p.AddJob("k", 1, 2) }, known},
		{"no slot", func() error { return p.SetSlots(0, 0) }, known},
		{"the slot again", func() error { return p.SetSlots(0, 1) }, searched},
		{"a task less", func() error { return p.RemoveTask(1) }, possible},
		{"a task more", func() error { return p.AddTask(1, "j", now) }, searched},
		{"a larger E", func() error { return p.SetShares("j", 2, 2) }, known},
		{"a machine more", func() error { return p.AddMachine(quincy.Machine{Node: 2, Slots: 9}) }, searched},
		{"an arc more", func() error {
			arcs[1] = append(arcs[1], quincy.Arc{To: quincy.OnMachine(1)})
			return p.UpdateTask(1, now)
		}, possible},
	} {
		_, before := p.Plan(t.Context(), now)
		require.NoError(t, step.change(), step.name)
		work := &counted{}
		_, first := p.Plan(work, now)
		now++
		switch step.want {
		case possible:
			require.NoError(t, first, step.name)
			require.ErrorIs(t, before, quincy.ErrInfeasible, step.name)
			continue
		case searched:
			require.Greater(t, work.looks, 1, step.name)
		case known:
			require.Same(t, before, first, step.name)
			require.Equal(t, 1, work.looks, step.name)
		}
		require.ErrorIs(t, first, quincy.ErrInfeasible, step.name)
		work = &counted{}
		_, again := p.Plan(work, now)
		require.Same(t, first, again, step.name)
		require.Equal(t, 1, work.looks, step.name) // a search looks at the context as it begins, too
	}
}

// counted is a context that counts how often its error is asked for.
type counted struct{ looks int }

func (c *counted) Deadline() (time.Time, bool) { return time.Time{}, false }
func (c *counted) Done() <-chan struct{}       { return nil }
func (c *counted) Value(any) any               { return nil }

func (c *counted) Err() error {
	c.looks++
	return nil
}
