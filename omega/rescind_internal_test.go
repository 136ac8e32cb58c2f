package omega

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// An offer is exchanged after its owner has begun to release it. Another scheduler
// looks for a slot before the owner goes on. The slot stays the owner's until then, and
// is no other's afterwards.
func TestExchange_OfWhatIsBeingReleased(t *testing.T) {
	cell, err := NewCell(Config{Machines: []Machine{{Name: "a", Capacity: resources.Vector{10}}}})
	require.NoError(t, err)
	var owner, grantee, other *Scheduler
	for name, s := range map[string]**Scheduler{"owner": &owner, "grantee": &grantee, "other": &other} {
		*s, err = cell.Register(name, Limits{})
		require.NoError(t, err)
	}
	claim := func(s *Scheduler, fill func(*Txn)) AllocationID {
		var tx Txn
		fill(&tx)
		granted, err := s.Commit(&tx)
		require.NoError(t, err)
		require.Equal(t, 1, granted)
		a, _ := tx.Allocation(0)
		return a
	}
	offer := claim(owner, func(tx *Txn) {
		tx.Claim(Claim{Machine: cell.machine(0, 0), Need: resources.Vector{5}, Grantee: grantee})
	})

	releasing := &Txn{cell: cell}
	releasing.Release(offer)
	require.True(t, owner.prepare(releasing))
	releasing.sort()

	taken := claim(grantee, func(tx *Txn) {
		tx.Exchange([]AllocationID{offer}, Claim{Machine: cell.machine(0, 0), Need: resources.Vector{3}})
	})
	beside := []AllocationID{
		claim(other, func(tx *Txn) { tx.Claim(Claim{Machine: cell.machine(0, 0), Need: resources.Vector{1}}) }),
		claim(other, func(tx *Txn) { tx.Claim(Claim{Machine: cell.machine(0, 0), Need: resources.Vector{1}}) }),
	}

	g, _ := releasing.nextGroup(releasing.order)
	owner.commitOne(releasing, g, parts{releases: true, claims: true})
	require.Zero(t, owner.finish(releasing))
	releasing.end()
	require.NoError(t, releasing.Err(0), "it is gone, as the owner wants it")
	require.Equal(t, resources.Vector{5}, load(cell.words.at(0)).free(), "and gives nothing back: three are taken, two beside")
	require.Zero(t, owner.Usage())
	require.NoError(t, cell.Check())

	require.ErrorIs(t, owner.Release(offer), ErrReleased)
	require.NoError(t, grantee.Release(taken))
	for _, a := range beside {
		require.NoError(t, other.Release(a))
	}
	require.Equal(t, resources.Vector{10}, load(cell.words.at(0)).free())
	require.NoError(t, cell.Check())
}
