package mcf_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/mcf"
)

// Two arcs lead from one node to the other, for 1 and for 5. The prices agree with
// the dear one in use, and then with the cheap one: each time a single arc is in
// the way of the proof.
func TestVerify_LooksAtBothSidesOfAnArc(t *testing.T) {
	g := &mcf.Graph{Supply: []int64{1, -1}, Arcs: []mcf.Arc{{From: 0, To: 1, Cap: 1, Cost: 1}, {From: 0, To: 1, Cap: 1, Cost: 5}}}
	require.NoError(t, g.Verify(mcf.Solution{Cost: 1, Flow: []int64{1, 0}, Price: []int64{0, 3}}))
	require.EqualError(t, g.Verify(mcf.Solution{Cost: 5, Flow: []int64{0, 1}, Price: []int64{0, 5}}),
		"quincy: arc 1: flow 0 of 0 to 1 at a reduced cost of -4: not optimal")
	require.EqualError(t, g.Verify(mcf.Solution{Cost: 5, Flow: []int64{0, 1}, Price: []int64{0, 1}}),
		"quincy: arc 2: flow 1 of 0 to 1 at a reduced cost of 4: not optimal")
}

// What arcs have to carry is neither left out nor taken back.
func TestVerify_KnowsLowerBounds(t *testing.T) {
	g := &mcf.Graph{Supply: []int64{1, -1}, Arcs: []mcf.Arc{{From: 0, To: 1, Cap: 1, Cost: 1}, {From: 0, To: 1, Low: 1, Cap: 2, Cost: 5}}}
	require.NoError(t, g.Verify(mcf.Solution{Cost: 5, Flow: []int64{0, 1}, Price: []int64{0, 1}}))
	err := g.Verify(mcf.Solution{Cost: 1, Flow: []int64{1, 0}, Price: []int64{0, 3}})
	require.ErrorIs(t, err, mcf.ErrInfeasible)
	require.EqualError(t, err, "quincy: arc 2: flow 0, want 1 to 2: infeasible")
}
