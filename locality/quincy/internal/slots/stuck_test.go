package slots_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality/quincy/internal/slots"
)

// What is named cannot be, as one can count: more tasks than there is room where
// they have arcs to, or a leaf that tasks elsewhere are too few for.
func TestStuck_IsProofThatThereIsNoSolution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		demand := map[slots.Loc]int{}
		for _, v := range w.waits {
			demand[v] = rapid.IntRange(0, 2).Draw(t, "demand")
			w.net.SetLeaf(v, demand[v], rapid.IntRange(0, 2).Draw(t, "wait"))
		}
		for range rapid.IntRange(1, 25).Draw(t, "tasks") {
			w.tasks = append(w.tasks, w.net.Add(w.options(t)))
		}
		if w.net.Solve(w.now) == nil {
			return
		}
		tasks, locs := w.net.Stuck()
		require.True(t, slices.IsSorted(tasks))
		require.True(t, slices.IsSorted(locs))
		for _, task := range w.tasks {
			for _, o := range w.net.Options(nil, task) {
				require.True(t, !slices.Contains(tasks, task) || slices.Contains(locs, o.At), "task %d leads to %d", task, o.At)
			}
		}
		group := slots.Sink // which the spots after it are in
		for _, v := range w.spots {
			if !slices.Contains(w.leaves, v) {
				group = v
			} else if slices.Contains(locs, group) && group != slots.Sink {
				require.Contains(t, locs, v, "group %d", group)
			}
		}
		if !slices.Contains(locs, slots.Sink) {
			room := 0
			for _, v := range slices.Concat(w.leaves, w.waits) {
				if slices.Contains(locs, v) {
					most, _ := w.net.Room(v)
					room += most
				}
			}
			require.Greater(t, len(tasks), room)
			return
		}
		// All tasks that may go to leaves outside are too few for these.
		wanted, others := 0, len(w.tasks)-len(tasks)
		for _, v := range w.waits {
			if !slices.Contains(locs, v) {
				wanted += demand[v]
			}
		}
		require.Less(t, others, wanted)
	})
}

// Tasks that hold a slot through a group, or only by way of the sink, are in the
// way as well.
func TestStuck_FindsAllInTheWay(t *testing.T) {
	n := slots.New()
	group := n.AddGroup(slots.Sink)
	leaf := n.AddLeaf(group)
	n.SetLeaf(leaf, 0, 1)
	a := n.Add([]slots.Option{{At: group}})
	require.NoError(t, n.Solve(0))
	b := n.Add([]slots.Option{{At: leaf}})
	require.ErrorIs(t, n.Solve(0), slots.ErrInfeasible)
	tasks, locs := n.Stuck()
	require.Equal(t, []int32{a, b}, tasks)
	require.Equal(t, []slots.Loc{group, leaf}, locs)

	n = slots.New()
	one, two, needy := n.AddLeaf(slots.Sink), n.AddLeaf(slots.Sink), n.AddLeaf(slots.Sink)
	n.SetLeaf(one, 0, 1)
	n.SetLeaf(two, 0, 1)
	n.SetLeaf(needy, 1, 0)
	a, b = n.Add([]slots.Option{{At: one}}), n.Add([]slots.Option{{At: two}})
	require.ErrorIs(t, n.Solve(0), slots.ErrInfeasible)
	tasks, locs = n.Stuck()
	require.Equal(t, []int32{a, b}, tasks)
	require.Equal(t, []slots.Loc{slots.Sink, one, two}, locs)
}
