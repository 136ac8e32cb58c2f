package slots_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/internal/slots"
)

// What is named cannot be, as one can count: more tasks than there is room where
// they have arcs to, or a leaf that tasks elsewhere are too few for.
func TestUnplaceable_IsProofThatThereIsNoSolution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := slots.New()
		looks := rapid.SampledFrom([]int64{0, 2, 1000})
		n.SetLooks(looks.Draw(t, "warm"), looks.Draw(t, "cold"), 1)
		spots := []slots.Loc{n.AddGroup(slots.Sink)} // groups, each before its leaves
		var leaves, waits, all []slots.Loc
		for range rapid.IntRange(0, 3).Draw(t, "racks") {
			rack := n.AddGroup(spots[0])
			spots = append(spots, rack)
			for range rapid.IntRange(1, 4).Draw(t, "machines") {
				v := n.AddLeaf(rack)
				n.SetLeaf(v, 0, rapid.IntRange(0, 4).Draw(t, "slots"))
				leaves, spots = append(leaves, v), append(spots, v)
			}
		}
		demand := map[slots.Loc]int{}
		for range rapid.IntRange(0, 3).Draw(t, "jobs") {
			v := n.AddLeaf(slots.Sink)
			waits = append(waits, v)
			demand[v] = rapid.IntRange(0, 2).Draw(t, "demand")
			n.SetLeaf(v, demand[v], rapid.IntRange(0, 2).Draw(t, "wait"))
		}
		all = slices.Concat(spots, waits)
		var every []int32
		for range rapid.IntRange(1, 25).Draw(t, "tasks") {
			var options []slots.Option
			for _, v := range rapid.SliceOfNDistinct(rapid.SampledFrom(all), 1, min(4, len(all)), rapid.ID[slots.Loc]).Draw(t, "to") {
				options = append(options, slots.Option{Base: rapid.Int64Range(0, 9).Draw(t, "cost"), At: v})
			}
			every = append(every, n.Add(options))
		}
		if n.Solve(context.Background(), 0) == nil {
			return
		}
		tasks, locs := n.Unplaceable()
		require.NotEmpty(t, locs)
		require.True(t, slices.IsSorted(tasks))
		require.True(t, slices.IsSorted(locs))
		for _, task := range every {
			for _, o := range n.Options(nil, task) {
				require.True(t, !slices.Contains(tasks, task) || slices.Contains(locs, o.At), "task %d leads to %d", task, o.At)
			}
		}
		group := slots.Sink // which the spots after it are in
		for _, v := range spots {
			if !slices.Contains(leaves, v) {
				group = v
			} else if slices.Contains(locs, group) {
				require.Contains(t, locs, v, "group %d", group)
			}
		}
		if !slices.Contains(locs, slots.Sink) {
			room := 0
			for _, v := range slices.Concat(leaves, waits) {
				if slices.Contains(locs, v) {
					most, _ := n.Room(v)
					room += most
				}
			}
			require.Greater(t, len(tasks), room)
			return
		}
		// All tasks that may go to leaves outside are too few for these.
		wanted, others := 0, len(every)-len(tasks)
		for _, v := range waits {
			if !slices.Contains(locs, v) {
				wanted += demand[v]
			}
		}
		require.Less(t, others, wanted)
	})
}

// Tasks that hold a slot through a group, or only by way of the sink, are in the
// way as well.
func TestUnplaceable_FindsAllInTheWay(t *testing.T) {
	n := slots.New()
	group := n.AddGroup(slots.Sink)
	leaf := n.AddLeaf(group)
	n.SetLeaf(leaf, 0, 1)
	a := n.Add([]slots.Option{{At: group}})
	require.NoError(t, n.Solve(context.Background(), 0))
	b := n.Add([]slots.Option{{At: leaf}})
	require.ErrorIs(t, n.Solve(context.Background(), 0), slots.ErrInfeasible)
	tasks, locs := n.Unplaceable()
	require.Equal(t, []int32{a, b}, tasks)
	require.Equal(t, []slots.Loc{group, leaf}, locs)

	n = slots.New()
	one, two, needy := n.AddLeaf(slots.Sink), n.AddLeaf(slots.Sink), n.AddLeaf(slots.Sink)
	n.SetLeaf(one, 0, 1)
	n.SetLeaf(two, 0, 1)
	n.SetLeaf(needy, 1, 0)
	a, b = n.Add([]slots.Option{{At: one}}), n.Add([]slots.Option{{At: two}})
	require.ErrorIs(t, n.Solve(context.Background(), 0), slots.ErrInfeasible)
	tasks, locs = n.Unplaceable()
	require.Equal(t, []int32{a, b}, tasks)
	require.Equal(t, []slots.Loc{slots.Sink, one, two}, locs)
}
