package pool

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// planned returns a pool of two machines and a request with a plan for its needs.
func planned(t *testing.T, capacities [2]int64, needs []int64, nodes ...locality.Node) (*Pool, *waiter) {
	t.Helper()
	p, err := New(Config{Machines: []omega.Machine{
		{Name: "m0", Capacity: resources.Vector{capacities[0]}}, {Name: "m1", Capacity: resources.Vector{capacities[1]}},
	}})
	require.NoError(t, err)
	n, err := p.Tenant("a")
	require.NoError(t, err)
	g := &gang{}
	for _, need := range needs {
		g.needs = append(g.needs, resources.Vector{need})
	}
	w := &waiter{tenant: n, extra: &extra{many: g}, kept: &reservation{nodes: nodes}}
	for _, node := range nodes {
		p.books.machines[node].keeper = w
	}
	return p, w
}

// First fit puts 4 on the first machine, and then has no place for the second 3.
func TestPack_UsesThePlanOfAReservationWhereFirstFitFails(t *testing.T) {
	p, w := planned(t, [2]int64{6, 4}, []int64{4, 3, 3}, 1, 0, 0)
	require.Equal(t, []locality.Node{1, 0, 0}, p.placement.pack(w))
	w.kept = nil
	require.Nil(t, p.placement.pack(w), "first fit alone")
}

// Needs with a place on one machine are held up together, and by no needs that have
// a place on another one.
func TestHeldUp_AddsUpTheNeedsOfOneMachine(t *testing.T) {
	p, w := planned(t, [2]int64{4, 4}, []int64{2, 2}, 0, 0)
	require.False(t, p.reserving.heldUp(w, nil))
	p.books.machines[0].older = resources.Vector{1}
	require.True(t, p.reserving.heldUp(w, nil))
	require.False(t, p.reserving.heldUp(w, map[locality.Node]resources.Vector{0: {1}}), "the lease is gone")
	p, w = planned(t, [2]int64{4, 4}, []int64{2, 2}, 0, 1)
	p.books.machines[0].older, p.books.machines[1].older = resources.Vector{1}, resources.Vector{2}
	require.False(t, p.reserving.heldUp(w, nil))
	p.books.machines[1].older = resources.Vector{3}
	require.True(t, p.reserving.heldUp(w, nil))
}
