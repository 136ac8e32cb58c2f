package drf

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf/internal/fraction"
	"github.com/cellsched/cellsched/resources"
)

// A slot that has had all its generations is not used again: a handle of its
// first would be that of its next user.
func TestRemove_LeavesASlotWithoutGenerations(t *testing.T) {
	var h Heap[int]
	first, err := h.Add(0, 1)
	require.NoError(t, err)
	last := User{first.slot, math.MaxUint32}
	h.tree.accounts[first.slot].gen = last.gen
	h.byKey[0] = last
	require.NoError(t, h.Remove(last))
	next, err := h.Add(1, 1)
	require.NoError(t, err)
	require.NotEqual(t, first.slot, next.slot)
	for _, u := range []User{first, last} {
		_, ok := h.Usage(u)
		require.False(t, ok)
	}
}

// If a change of the totals leaves most users in the wrong track, the next pick
// ranks all at once. One at a time would take O(n log n).
func TestSetTotal_SettlesWhereManyChangePlaces(t *testing.T) {
	h, err := New[int](resources.Vector{10, 40})
	require.NoError(t, err)
	for i := range 1_000 {
		u, err := h.Add(i, 1)
		require.NoError(t, err)
		require.NoError(t, h.Charge(u, resources.Vector{5, 8}))
		require.NoError(t, h.Demand(u, resources.Vector{1}))
	}
	require.NoError(t, h.SetTotal(resources.Vector{100, 40}))
	require.True(t, h.tree.moved)
	_, ok := h.Pick(resources.Vector{1})
	require.True(t, ok)
	require.False(t, h.tree.moved)
}

// Two kinds with shares as near as they can be, at random. Floats often order them
// wrongly, by a known difference.
func TestMeasure_FindsTheKindThatRoundingHides(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	some := func() int64 { return 1<<61 + r.Int64N(1<<61) }
	for range 3_000 {
		var h Heap[int]
		u, err := h.Add(0, 1)
		require.NoError(t, err)
		require.NoError(t, h.SetTotal(resources.Vector{some(), some()}))
		require.NoError(t, h.SetWeights(u, [...]float64{1 + r.Float64(), 1 + r.Float64(), 1, 1, 1, 1, 1, 1}))
		tr := &h.tree
		w := tr.scale(u.slot)
		usage := &tr.accounts[u.slot].usage
		usage[0] = some() / 4
		// The usage of kind 1 where the shares cross, by halving.
		var low, high int64 = 0, resources.MaxQuantity
		for low < high {
			mid := low + (high-low)/2
			if fraction.Compare(mid, tr.total[1], w[1], usage[0], tr.total[0], w[0]) > 0 {
				high = mid
			} else {
				low = mid + 1
			}
		}
		usage[1] = low - r.Int64N(2) // just more, or not
		kind, _ := tr.measure(u.slot)
		require.Equal(t, tr.dominant(u.slot, usage), int(kind))
	}
}
