package slots_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/slots"
)

// Three tasks in a ring, each as well off at the next leaf. The first gets back to its
// former leaf if the other two may move on. No task moves if one may not.
func TestStay_MovesOthersInARing(t *testing.T) {
	n := slots.New()
	var leaves []slots.Loc
	for range 3 {
		l := n.AddLeaf(slots.Sink)
		n.SetLeaf(l, 0, 1)
		leaves = append(leaves, l)
	}
	other := n.AddLeaf(slots.Sink) // no task can sit there
	for i := range 3 {
		n.Add([]slots.Option{{Base: 5, At: leaves[i]}, {Base: 5, At: leaves[(i+1)%3]}})
	}
	require.NoError(t, n.Solve(t.Context(), 0))
	at := func(task int32) slots.Loc {
		v, _, ok := n.At(task)
		require.True(t, ok)
		return v
	}
	first, cost := at(0), n.Cost()
	back := leaves[0]
	if first == back {
		back = leaves[1]
	}
	require.False(t, n.Stay(0, first, func(int32) bool { return true }), "it is there")
	require.False(t, n.Stay(0, other, func(int32) bool { return true }))
	require.False(t, n.Stay(0, back, func(task int32) bool { return task != 2 }))
	require.Equal(t, first, at(0))
	require.True(t, n.Stay(0, back, func(int32) bool { return true }))
	require.Equal(t, back, at(0))
	require.Equal(t, cost, n.Cost())
	require.NoError(t, n.Verify())
}

// What costs more does not happen; nor does it below groups, where it may also be
// that a unit goes down another path.
func TestStay_OnlyForTheSameCost(t *testing.T) {
	n := slots.New()
	group := n.AddGroup(slots.Sink)
	a, b := n.AddLeaf(group), n.AddLeaf(group)
	n.SetLeaf(a, 0, 1)
	n.SetLeaf(b, 0, 1)
	dear := n.Add([]slots.Option{{Base: 5, At: a}, {Base: 2, At: group}})
	same := n.Add([]slots.Option{{Base: 2, At: a}, {Base: 2, At: group}, {Base: 2, At: b}})
	require.NoError(t, n.Solve(t.Context(), 0))
	all := func(int32) bool { return true }
	require.False(t, n.Stay(dear, a, all))
	for _, leaf := range []slots.Loc{a, b, a} {
		n.Stay(same, leaf, all)
		at, _, _ := n.At(same)
		require.Equal(t, leaf, at)
		require.NoError(t, n.Verify())
		require.Equal(t, int64(4), n.Cost())
	}
}
